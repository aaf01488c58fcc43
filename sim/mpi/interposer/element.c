// Element types and operators of MPI, as the reduce unit has them.
#include <stdio.h>
#include <string.h>

#include "interposer.h"

// As in firmware_models/abi/encoding.py.
enum datatype { FLOAT64, INT64, UINT64, FLOAT32, INT32, DOUBLE_INT, BYTE };
enum operator_ { SUM, MIN, MAX, PROD, AND, OR, XOR, MINLOC, MAXLOC };

enum { SUMS = 1 << SUM, PRODUCTS = 1 << PROD, EXTREMA = 1 << MIN | 1 << MAX, BITS = 1 << AND | 1 << OR | 1 << XOR,
       PLACES = 1 << MINLOC | 1 << MAXLOC };

static const struct op {
    MPI_Op op;
    enum operator_ operator_;
    const char *name;
} ops[] = {
    {MPI_SUM, SUM, "MPI_SUM"}, {MPI_MIN, MIN, "MPI_MIN"}, {MPI_MAX, MAX, "MPI_MAX"}, {MPI_PROD, PROD, "MPI_PROD"},
    {MPI_BAND, AND, "MPI_BAND"}, {MPI_BOR, OR, "MPI_BOR"}, {MPI_BXOR, XOR, "MPI_BXOR"},
    {MPI_MINLOC, MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, MAXLOC, "MPI_MAXLOC"},
};
static const struct op others[] = {
    {MPI_LAND, 0, "MPI_LAND"}, {MPI_LOR, 0, "MPI_LOR"}, {MPI_LXOR, 0, "MPI_LXOR"},
    {MPI_REPLACE, 0, "MPI_REPLACE"}, {MPI_NO_OP, 0, "MPI_NO_OP"},
};

// What stands for a type in hardware. Sums of complex numbers are sums of their parts; bits are bits, whatever the
// type; integers of 32 bits without a sign add and multiply as those with one do.
static const struct type {
    MPI_Datatype type;
    enum datatype datatype;
    int able;
} types[] = {
    {MPI_DOUBLE, FLOAT64, SUMS | PRODUCTS | EXTREMA}, {MPI_FLOAT, FLOAT32, SUMS | PRODUCTS | EXTREMA},
    {MPI_DOUBLE_PRECISION, FLOAT64, SUMS | PRODUCTS | EXTREMA}, {MPI_REAL, FLOAT32, SUMS | PRODUCTS | EXTREMA},
    {MPI_REAL8, FLOAT64, SUMS | PRODUCTS | EXTREMA}, {MPI_REAL4, FLOAT32, SUMS | PRODUCTS | EXTREMA},
    {MPI_C_DOUBLE_COMPLEX, FLOAT64, SUMS}, {MPI_C_FLOAT_COMPLEX, FLOAT32, SUMS}, {MPI_C_COMPLEX, FLOAT32, SUMS},
    {MPI_DOUBLE_COMPLEX, FLOAT64, SUMS}, {MPI_COMPLEX, FLOAT32, SUMS}, {MPI_CXX_DOUBLE_COMPLEX, FLOAT64, SUMS},
    {MPI_CXX_FLOAT_COMPLEX, FLOAT32, SUMS},
    {MPI_LONG, INT64, SUMS | PRODUCTS | EXTREMA | BITS}, {MPI_LONG_LONG, INT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_INT64_T, INT64, SUMS | PRODUCTS | EXTREMA | BITS}, {MPI_AINT, INT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_OFFSET, INT64, SUMS | PRODUCTS | EXTREMA | BITS}, {MPI_COUNT, INT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_INTEGER8, INT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_UNSIGNED_LONG, UINT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_UNSIGNED_LONG_LONG, UINT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_UINT64_T, UINT64, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_INT, INT32, SUMS | PRODUCTS | EXTREMA | BITS}, {MPI_INT32_T, INT32, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_INTEGER, INT32, SUMS | PRODUCTS | EXTREMA | BITS}, {MPI_INTEGER4, INT32, SUMS | PRODUCTS | EXTREMA | BITS},
    {MPI_UNSIGNED, INT32, SUMS | PRODUCTS | BITS}, {MPI_UINT32_T, INT32, SUMS | PRODUCTS | BITS},
    {MPI_SHORT, BYTE, BITS}, {MPI_UNSIGNED_SHORT, BYTE, BITS}, {MPI_INT16_T, BYTE, BITS}, {MPI_UINT16_T, BYTE, BITS},
    {MPI_SIGNED_CHAR, BYTE, BITS}, {MPI_UNSIGNED_CHAR, BYTE, BITS}, {MPI_INT8_T, BYTE, BITS},
    {MPI_UINT8_T, BYTE, BITS}, {MPI_BYTE, BYTE, BITS},
    {MPI_DOUBLE_INT, DOUBLE_INT, PLACES},
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static const struct op *found_op(MPI_Op op) {
    for (size_t n = 0; n < LENGTH(ops); ++n)
        if (ops[n].op == op) return &ops[n];
    return NULL;
}

static const char *op_name(MPI_Op op) {
    const struct op *found = found_op(op);
    for (size_t n = 0; !found && n < LENGTH(others); ++n)
        if (others[n].op == op) found = &others[n];
    return found ? found->name : "an operator of its own";
}

bool conic_predefined(MPI_Op op) { return op_name(op)[0] == 'M'; }

// What stands for such elements in hardware, and the bytes of one; false if nothing does.
bool conic_element(MPI_Datatype type, MPI_Op op, uint32_t *datatype, uint32_t *operator_, uint64_t *bytes) {
    const struct op *found = found_op(op);
    for (size_t n = 0; found && n < LENGTH(types); ++n) {
        if (types[n].type != type || type == MPI_DATATYPE_NULL || !(types[n].able >> found->operator_ & 1)) continue;
        MPI_Aint low, extent;
        PMPI_Type_get_extent(type, &low, &extent);
        *bytes = (uint64_t)extent;
        *operator_ = found->operator_;
        // Bits of what is shorter than a lane are taken by lanes; the simulator fills the last one.
        *datatype = types[n].datatype == BYTE ? UINT64 : types[n].datatype;
        return true;
    }
    return false;
}

bool conic_reduces(enum collective collective) {
    return collective == ALLREDUCE || collective == REDUCE || collective == REDUCE_SCATTER_BLOCK ||
           collective == REDUCE_SCATTER || collective == SCAN || collective == EXSCAN;
}

// What the program said, for messages.
void conic_names(const struct arguments *call, struct request *request) {
    char name[MPI_MAX_OBJECT_NAME] = "";
    int length;
    MPI_Datatype type = request->in_bytes || call->receive_type == MPI_DATATYPE_NULL ? call->send_type : call->receive_type;
    if (type == MPI_DATATYPE_NULL) type = call->receive_type;
    if (type != MPI_DATATYPE_NULL) PMPI_Type_get_name(type, name, &length);
    snprintf(request->type_name, sizeof request->type_name, "%.31s", name[0] ? name : "a derived type");
    if (conic_reduces(call->collective)) snprintf(request->op_name, sizeof request->op_name, "%.23s", op_name(call->op));
}
