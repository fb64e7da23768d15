/* A C extension with one function, call(function, argument): calls a Python function back. Limited API: one build of it
   serves CPython 3.11 to 3.15. */
#define Py_LIMITED_API 0x030b0000
#include <Python.h>

__attribute__((noinline)) static PyObject *call_back(PyObject *function, PyObject *argument)
{
    PyObject *result = PyObject_CallFunctionObjArgs(function, argument, NULL);
    if (result != NULL && !PyLong_Check(result)) {
        Py_DECREF(result);
        PyErr_SetString(PyExc_TypeError, "the function must return an int");
        return NULL;
    }
    return result;
}

static PyObject *call(PyObject *module, PyObject *arguments)
{
    PyObject *function, *argument;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OO", &function, &argument)) {
        return NULL;
    }
    return call_back(function, argument);
}

static PyMethodDef methods[] = {
    {"call", call, METH_VARARGS, "call(function, argument): what function(argument) returns"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "bounce", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_bounce(void)
{
    return PyModule_Create(&definition);
}
