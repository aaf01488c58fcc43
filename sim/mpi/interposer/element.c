// Element types and operators of MPI, as the reduce unit has them.
#include <stdio.h>
#include <string.h>

#include "interposer.h"

static const struct op {
    MPI_Op op;
    enum operator_ operator_;
    const char *name;
} ops[] = {
    {MPI_SUM, SUM, "MPI_SUM"}, {MPI_MIN, MIN, "MPI_MIN"}, {MPI_MAX, MAX, "MPI_MAX"}, {MPI_PROD, PROD, "MPI_PROD"},
    {MPI_BAND, AND, "MPI_BAND"}, {MPI_BOR, OR, "MPI_BOR"}, {MPI_BXOR, XOR, "MPI_BXOR"},
    {MPI_MINLOC, MINLOC, "MPI_MINLOC"}, {MPI_MAXLOC, MAXLOC, "MPI_MAXLOC"},
    {MPI_LAND, LAND, "MPI_LAND"}, {MPI_LOR, LOR, "MPI_LOR"}, {MPI_LXOR, LXOR, "MPI_LXOR"},
};
static const struct op others[] = {{MPI_REPLACE, 0, "MPI_REPLACE"}, {MPI_NO_OP, 0, "MPI_NO_OP"}};

// Types that lie alike in memory and are computed with alike. What the NICs can do with them the simulator knows.
static const struct type {
    MPI_Datatype type;
    enum element element;
} types[] = {
    {MPI_DOUBLE, FLOAT64}, {MPI_DOUBLE_PRECISION, FLOAT64}, {MPI_REAL8, FLOAT64},
    {MPI_FLOAT, FLOAT32}, {MPI_REAL, FLOAT32}, {MPI_REAL4, FLOAT32},
    {MPI_C_DOUBLE_COMPLEX, COMPLEX128}, {MPI_DOUBLE_COMPLEX, COMPLEX128}, {MPI_CXX_DOUBLE_COMPLEX, COMPLEX128},
    {MPI_COMPLEX16, COMPLEX128},
    {MPI_C_FLOAT_COMPLEX, COMPLEX64}, {MPI_C_COMPLEX, COMPLEX64}, {MPI_COMPLEX, COMPLEX64},
    {MPI_CXX_FLOAT_COMPLEX, COMPLEX64}, {MPI_COMPLEX8, COMPLEX64},
    {MPI_LONG, INT64}, {MPI_LONG_LONG, INT64}, {MPI_INT64_T, INT64}, {MPI_AINT, INT64}, {MPI_OFFSET, INT64},
    {MPI_COUNT, INT64}, {MPI_INTEGER8, INT64},
    {MPI_UNSIGNED_LONG, UINT64}, {MPI_UNSIGNED_LONG_LONG, UINT64}, {MPI_UINT64_T, UINT64},
    {MPI_INT, INT32}, {MPI_INT32_T, INT32}, {MPI_INTEGER, INT32}, {MPI_INTEGER4, INT32},
    {MPI_UNSIGNED, UINT32}, {MPI_UINT32_T, UINT32},
    {MPI_SHORT, INT16}, {MPI_INT16_T, INT16}, {MPI_INTEGER2, INT16},
    {MPI_UNSIGNED_SHORT, UINT16}, {MPI_UINT16_T, UINT16},
    {MPI_SIGNED_CHAR, INT8}, {MPI_INT8_T, INT8}, {MPI_INTEGER1, INT8},
    {MPI_UNSIGNED_CHAR, UINT8}, {MPI_UINT8_T, UINT8}, {MPI_BYTE, BYTE},
    {MPI_C_BOOL, BOOL}, {MPI_CXX_BOOL, BOOL},
    {MPI_DOUBLE_INT, DOUBLE_INT}, {MPI_FLOAT_INT, FLOAT_INT}, {MPI_2INT, TWO_INT},
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

// What such elements and operators are to the simulator; false if it knows nothing of them.
bool conic_element(MPI_Datatype type, MPI_Op op, uint32_t *element, uint32_t *operator_) {
    const struct op *found = found_op(op);
    for (size_t n = 0; found && n < LENGTH(types); ++n) {
        if (types[n].type != type || type == MPI_DATATYPE_NULL) continue;
        *operator_ = found->operator_;
        *element = types[n].element;
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
