/* joined(list of str) -> bytes: all of them as UTF-8, one after the other. Two forms of one function: `encoding` makes a bytes object of each string first,
 * `in_place` reads strings of ASCII characters where they lie. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    char *bytes;
    Py_ssize_t used, room;
} Buffer;

static int add(Buffer *buffer, const char *bytes, Py_ssize_t length)
{
    if (buffer->used + length > buffer->room) {
        Py_ssize_t room = 2 * buffer->room + length;
        char *larger = PyMem_Realloc(buffer->bytes, room);
        if (larger == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        buffer->bytes = larger;
        buffer->room = room;
    }
    memcpy(buffer->bytes + buffer->used, bytes, length);
    buffer->used += length;
    return 0;
}

static int add_encoded(Buffer *buffer, PyObject *text)
{
    PyObject *encoded = PyUnicode_AsUTF8String(text);
    if (encoded == NULL) {
        return -1;
    }
    int failed = add(buffer, PyBytes_AS_STRING(encoded), PyBytes_GET_SIZE(encoded));
    Py_DECREF(encoded);
    return failed;
}

static int add_in_place(Buffer *buffer, PyObject *text)
{
    if (PyUnicode_Check(text) && PyUnicode_IS_COMPACT_ASCII(text)) {
        return add(buffer, (const char *)PyUnicode_1BYTE_DATA(text), PyUnicode_GET_LENGTH(text));
    }
    return add_encoded(buffer, text);
}

static PyObject *joined(PyObject *list, int (*add_one)(Buffer *, PyObject *))
{
    Buffer buffer = {NULL, 0, 0};
    PyObject *result = NULL;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, "a list of str is needed");
        return NULL;
    }
    for (Py_ssize_t at = 0; at < PyList_GET_SIZE(list); at++) {
        PyObject *text = Py_NewRef(PyList_GET_ITEM(list, at));
        int failed = add_one(&buffer, text);
        Py_DECREF(text);
        if (failed) {
            goto done;
        }
    }
    result = PyBytes_FromStringAndSize(buffer.bytes, buffer.used);
done:
    PyMem_Free(buffer.bytes);
    return result;
}

/* Functions of their own, so that a stack tells which form it was. */
static PyObject *encoding(PyObject *module, PyObject *list)
{
    (void)module;
    return joined(list, add_encoded);
}

static PyObject *in_place(PyObject *module, PyObject *list)
{
    (void)module;
    return joined(list, add_in_place);
}

static PyMethodDef methods[] = {
    {"encoding", encoding, METH_O, "All texts of a list as UTF-8."},
    {"in_place", in_place, METH_O, "The same, without a bytes object for each."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "joined", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_joined(void)
{
    return PyModule_Create(&module);
}
