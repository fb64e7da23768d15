/* An extension module as compilers make them, to find names in once it is stripped. Made into shop.so by
     cc -O2 -fPIC -shared -Wl,-z,pack-relative-relocs -Wl,--build-id=0x67656e6261 -s \
        -I$(python3 -c 'import sysconfig; print(sysconfig.get_path("include"))') shop.c -o shop.so
   with CPython 3.13's headers, GCC 12 and GNU ld 2.40. Run it again only when this file changes. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

typedef struct {
    PyObject_HEAD
    long apples;
} Basket;

__attribute__((cold, noinline)) static int spilt(long apples) {
    PyErr_Format(PyExc_ValueError, "%ld apples do not fit", apples);
    return -1;
}

/* Called from one place only, through another helper. */
__attribute__((noinline)) static long weigh_one(long apples) {
    volatile long grams = 0;
    for (long i = 0; i < apples; i++) {
        grams += 150 + (i & 7);
    }
    return grams;
}

__attribute__((noinline)) static long weigh_all(long apples) {
    volatile long total = weigh_one(apples);
    return total + 1;
}

/* Called by two methods. */
__attribute__((noinline)) static int count_in(Basket *self, long more) {
    if (__builtin_expect(self->apples + more > 1000, 0)) {
        return spilt(more);
    }
    self->apples += more;
    return 0;
}

static PyObject *basket_add(PyObject *self, PyObject *number) {
    long more = PyLong_AsLong(number);
    if ((more == -1 && PyErr_Occurred()) || count_in((Basket *)self, more) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *basket_weigh(PyObject *self, PyObject *nothing) {
    return PyLong_FromLong(weigh_all(((Basket *)self)->apples));
}

static PyMethodDef basket_methods[] = {
    {"add", basket_add, METH_O, "adds apples"},
    {"weigh", basket_weigh, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyObject *get_apples(PyObject *self, void *closure) { return PyLong_FromLong(((Basket *)self)->apples); }

static int set_apples(PyObject *self, PyObject *value, void *closure) {
    long apples = PyLong_AsLong(value);
    return apples == -1 && PyErr_Occurred() ? -1 : count_in((Basket *)self, apples);
}

static PyGetSetDef basket_properties[] = {
    {"apples", get_apples, set_apples, "how many", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static Py_ssize_t basket_length(PyObject *self) { return ((Basket *)self)->apples; }

static PyObject *basket_item(PyObject *self, PyObject *key) {
    return PyObject_RichCompareBool(self, key, Py_EQ) ? Py_NewRef(key) : NULL;
}

static PyMappingMethods basket_mapping = {.mp_length = basket_length, .mp_subscript = basket_item};

/* The destructor of both types. */
static void shared_dealloc(PyObject *self) { Py_TYPE(self)->tp_free(self); }

static PyTypeObject basket_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "shop.Basket",
    .tp_basicsize = sizeof(Basket),
    .tp_dealloc = shared_dealloc,
    .tp_as_mapping = &basket_mapping,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_methods = basket_methods,
    .tp_getset = basket_properties,
    .tp_new = PyType_GenericNew,
};

static PyObject *till_repr(PyObject *self) { return PyUnicode_FromFormat("till of %zd", Py_REFCNT(self)); }

static PyType_Slot till_slots[] = {
    {Py_tp_repr, till_repr},
    {Py_tp_dealloc, shared_dealloc},
    {Py_tp_doc, "a till"},
    {0, NULL},
};

static PyType_Spec till_spec = {"shop.Till", sizeof(PyObject), 0, Py_TPFLAGS_DEFAULT, till_slots};

/* Called from one place, but its address is known elsewhere too: no name can be told. */
__attribute__((noinline)) static long dust(long shelves) {
    volatile long dusted = shelves;
    return dusted;
}

long (*volatile at_night)(long) = dust;

static PyObject *shop_open(PyObject *module, PyObject *nothing) {
    return PyUnicode_FromString(dust(Py_IsInitialized()) ? "open" : "closed");
}

static PyMethodDef shop_functions[] = {
    {"open", shop_open, METH_NOARGS, "opens"},
    {NULL, NULL, 0, NULL},
};

static PyObject *loose(PyObject *self, PyObject *argument) { return PyObject_Str(argument); }

/* In no table of a type or module. */
static PyMethodDef loose_function = {"loose_end", loose, METH_O, NULL};

static int shop_exec(PyObject *module) {
    PyObject *till = PyType_FromSpec(&till_spec);
    PyObject *function = PyCFunction_New(&loose_function, NULL);
    if (till == NULL || function == NULL || PyModule_AddObject(module, "Till", till) < 0) {
        return -1;
    }
    return PyModule_AddObject(module, "loose_end", function) < 0 ? -1 : PyModule_AddType(module, &basket_type);
}

static PyModuleDef_Slot shop_slots[] = {{Py_mod_exec, shop_exec}, {0, NULL}};

static struct PyModuleDef shop_module = {
    PyModuleDef_HEAD_INIT, "shop", NULL, 0, shop_functions, shop_slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_shop(void) { return PyModuleDef_Init(&shop_module); }
