/* conic: a minimal driver for bare metal; see conic_driver.h. */
#include "conic_driver.h"

#define INDEXES 0x10000u                 /* indexes of rings wrap here, not at the size of the ring */
#define MOST_STEPS 32u                   /* more than a sequence of recursive doubling can have */

uint32_t conic_mmio_read(void *base, uint32_t address)
{
    return *(volatile uint32_t *)((unsigned char *)base + address);
}

void conic_mmio_write(void *base, uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)((unsigned char *)base + address) = value;
}

static uint32_t read_register(const conic_platform *platform, uint32_t address)
{
    return platform->read(platform->context, address);
}

static void write_register(const conic_platform *platform, uint32_t address, uint32_t value)
{
    platform->write(platform->context, address, value);
}

/* An address of shared memory, as two registers. */
static void write_address(const conic_platform *platform, uint32_t low, uint32_t high, uint32_t offset)
{
    uint64_t address = platform->bus + offset;

    write_register(platform, low, (uint32_t)address);
    write_register(platform, high, (uint32_t)(address >> 32));
}

static volatile uint64_t *words(const conic_port *port, uint32_t offset)
{
    return (volatile uint64_t *)(port->platform->memory + offset);
}

int conic_start(const conic_platform *platform, uint32_t node_id)
{
    if (read_register(platform, CONIC_REG_ID) != CONIC_REG_ID_RESET
            || read_register(platform, CONIC_REG_VERSION) != CONIC_REG_VERSION_RESET)
        return CONIC_NOT_A_NIC;
    if (node_id >> CONIC_NODE_BITS)
        return CONIC_BAD_ARGUMENT;
    write_register(platform, CONIC_REG_NODE_ID, node_id);
    write_register(platform, CONIC_REG_IRQ_ENABLE, CONIC_SET(CONIC_REG_IRQ_ENABLE_WRITTEN, 1));
    write_register(platform, CONIC_REG_CONTROL, CONIC_SET(CONIC_REG_CONTROL_ENABLE, 1));
    return CONIC_OK;
}

void conic_set_answer_key(const conic_platform *platform, uint64_t key)
{
    write_register(platform, CONIC_REG_ANSWER_KEY_LO, (uint32_t)key);
    write_register(platform, CONIC_REG_ANSWER_KEY_HI, (uint32_t)(key >> 32));
}

uint32_t conic_ring_bytes(uint32_t dq_log2, uint32_t cq_log2)
{
    return (CONIC_DESCRIPTOR_BYTES << dq_log2) + (CONIC_COMPLETION_BYTES << cq_log2) + CONIC_RECEIVE_BYTES;
}

int conic_open(conic_port *port, const conic_platform *platform, uint32_t vp, uint32_t dq_log2, uint32_t cq_log2,
               uint32_t rings, uint32_t window, uint32_t window_bytes)
{
    uint32_t at, receive, end = rings + conic_ring_bytes(dq_log2, cq_log2);

    if (vp >= read_register(platform, CONIC_REG_N_VPS) || dq_log2 > 15 || cq_log2 > 15
            || rings % CONIC_DESCRIPTOR_BYTES)
        return CONIC_BAD_ARGUMENT;
    port->platform = platform;
    port->vp = vp;
    /* Receive entries have to be aligned like descriptors, so they stand before the completions. */
    port->dq = rings;
    receive = rings + (CONIC_DESCRIPTOR_BYTES << dq_log2);
    port->cq = receive + CONIC_RECEIVE_BYTES;
    port->dq_log2 = dq_log2;
    port->cq_log2 = cq_log2;
    port->produced = port->fetched = port->consumed = 0;
    port->pulse_bytes = read_register(platform, CONIC_REG_MTU) & ~63u;
    /* Entries of an earlier run could have the phase that is waited for. */
    for (at = receive; at < end; at += 8)
        *words(port, at) = 0;
    CONIC_BARRIER();
    write_register(platform, CONIC_REG_VP_SELECT, vp);
    write_register(platform, CONIC_REG_VP_DQ_LOG2, dq_log2);
    write_register(platform, CONIC_REG_VP_CQ_LOG2, cq_log2);
    write_register(platform, CONIC_REG_VP_RQ_LOG2, 0);
    write_address(platform, CONIC_REG_VP_DQ_BASE_LO, CONIC_REG_VP_DQ_BASE_HI, port->dq);
    write_address(platform, CONIC_REG_VP_CQ_BASE_LO, CONIC_REG_VP_CQ_BASE_HI, port->cq);
    write_address(platform, CONIC_REG_VP_RQ_BASE_LO, CONIC_REG_VP_RQ_BASE_HI, receive);
    write_address(platform, CONIC_REG_VP_WINDOW_BASE_LO, CONIC_REG_VP_WINDOW_BASE_HI, window);
    write_address(platform, CONIC_REG_VP_WINDOW_LIMIT_LO, CONIC_REG_VP_WINDOW_LIMIT_HI, window + window_bytes);
    write_register(platform, CONIC_REG_VP_WINDOW_RIGHTS, CONIC_REG_VP_WINDOW_RIGHTS_RESET);
    write_register(platform, CONIC_REG_VP_COMMIT, CONIC_SET(CONIC_REG_VP_COMMIT_ENABLE, 1));
    return CONIC_OK;
}

int conic_post(conic_port *port, conic_descriptor *unit, uint32_t n_descriptors)
{
    uint32_t size = 1u << port->dq_log2, number, word;
    uint32_t unread = (port->produced - port->fetched) % INDEXES;
    uint32_t end = (port->produced + n_descriptors) % INDEXES;

    if (!n_descriptors || n_descriptors > size)
        return CONIC_BAD_ARGUMENT;
    if (n_descriptors > size - unread)
        return CONIC_FULL;
    for (number = 0; number < n_descriptors; number++) {
        uint32_t place = (port->produced + number) % size;
        volatile uint64_t *to = words(port, port->dq + place * CONIC_DESCRIPTOR_BYTES);

        conic_descriptor_set_source_vp(&unit[number], port->vp);
        /* Descriptors are fetched in order, so the completion says how far the NIC has read, at the least. */
        conic_descriptor_set_tag(&unit[number], end);
        for (word = 0; word < CONIC_DESCRIPTOR_BYTES / 8; word++)
            to[word] = unit[number].word[word];
    }
    port->produced = end;
    return CONIC_OK;
}

void conic_ring(conic_port *port)
{
    CONIC_BARRIER();
    write_register(port->platform, CONIC_VP_PAGE(port->vp) + CONIC_VP_DQ_PROD, port->produced);
}

/* One step of recursive doubling: adds what has come from the partner before, sends to the next one or writes back. */
static void step_of(const conic_port *port, const conic_allreduce_request *request, uint32_t step, uint32_t n_steps,
                    conic_descriptor *descriptor)
{
    uint32_t word, last = step == n_steps - 1;

    for (word = 0; word < CONIC_DESCRIPTOR_BYTES / 8; word++)
        *(volatile uint64_t *)&descriptor->word[word] = 0;  /* volatile: or the compiler calls memset */
    conic_descriptor_set_kind(descriptor, CONIC_KIND_RDMA);
    conic_descriptor_set_c(descriptor, 1);
    conic_descriptor_set_ch(descriptor, step == 0);
    conic_descriptor_set_ct(descriptor, last);
    conic_descriptor_set_job_id(descriptor, request->job_id);
    conic_descriptor_set_length(descriptor, request->length);
    conic_descriptor_set_pulse_bytes(descriptor, port->pulse_bytes);
    conic_descriptor_set_datatype(descriptor, request->datatype);
    conic_descriptor_set_operator(descriptor, request->op);
    conic_descriptor_set_cp_count(descriptor, step);
    conic_descriptor_set_reduce_flag(descriptor, step > 0);
    conic_descriptor_set_operand(descriptor, step ? CONIC_OPERAND_INTERMEDIATE : CONIC_OPERAND_MEMORY);
    if (step == 0)
        conic_descriptor_set_local_addr(descriptor, port->platform->bus + request->operand);
    if (last) {
        conic_descriptor_set_write_back(descriptor, 1);
        conic_descriptor_set_result_addr(descriptor, port->platform->bus + request->result);
    } else {
        conic_descriptor_set_cp(descriptor, 1);
        conic_descriptor_set_dest_id(descriptor, request->rank ^ (1u << step));
        conic_descriptor_set_dest_vp(descriptor, port->vp);
        conic_descriptor_set_out_seq_id(descriptor, step);
        conic_descriptor_set_peer(descriptor, step);
    }
}

int conic_allreduce(conic_port *port, const conic_allreduce_request *request)
{
    conic_descriptor sequence[MOST_STEPS];
    uint32_t n_steps = 1, step;
    int error;

    while (n_steps < MOST_STEPS && 1u << (n_steps - 1) < request->n_ranks)
        n_steps++;
    if (request->n_ranks < 2 || 1u << (n_steps - 1) != request->n_ranks || request->rank >= request->n_ranks
            || request->job_id >> CONIC_JOB_BITS || !request->length)
        return CONIC_BAD_ARGUMENT;
    for (step = 0; step < n_steps; step++)
        step_of(port, request, step, n_steps, &sequence[step]);
    error = conic_post(port, sequence, n_steps);
    if (error == CONIC_OK)
        conic_ring(port);
    return error;
}

int conic_poll(conic_port *port, conic_result *result)
{
    uint32_t place = port->consumed % (1u << port->cq_log2), word, ahead;
    uint64_t phase = ~(port->consumed >> port->cq_log2) & 1;
    volatile uint64_t *from = words(port, port->cq + place * CONIC_COMPLETION_BYTES);
    conic_completion entry;

    /* The last word is written last: with its phase everything is there. */
    entry.word[CONIC_COMPLETION_BYTES / 8 - 1] = from[CONIC_COMPLETION_BYTES / 8 - 1];
    if (conic_completion_get_phase(&entry) != phase)
        return CONIC_EMPTY;
    CONIC_BARRIER();
    for (word = 0; word < CONIC_COMPLETION_BYTES / 8 - 1; word++)
        entry.word[word] = from[word];
    result->status = (uint32_t)conic_completion_get_status(&entry);
    result->kind = (uint32_t)conic_completion_get_kind(&entry);
    result->job_id = (uint32_t)conic_completion_get_job_id(&entry);
    result->bytes = (uint32_t)conic_completion_get_bytes(&entry);
    result->tag = (uint32_t)conic_completion_get_tag(&entry);
    result->detail = conic_completion_get_detail(&entry);
    result->timestamp = conic_completion_get_timestamp(&entry);
    /* Completions may come in another order than descriptors: only news moves `fetched`. */
    ahead = (result->tag - port->fetched) % INDEXES;
    if (ahead <= (port->produced - port->fetched) % INDEXES)
        port->fetched = result->tag % INDEXES;
    port->consumed = (port->consumed + 1) % INDEXES;
    write_register(port->platform, CONIC_VP_PAGE(port->vp) + CONIC_VP_CQ_CONS, port->consumed);
    return CONIC_OK;
}

int conic_wait(conic_port *port, conic_result *result, uint32_t attempts)
{
    for (; attempts; attempts--) {
        if (conic_poll(port, result) == CONIC_OK)
            return CONIC_OK;
        if (port->platform->idle)
            port->platform->idle(port->platform->context);
    }
    return CONIC_EMPTY;
}

int conic_interrupt(const conic_platform *platform)
{
    uint32_t status = read_register(platform, CONIC_REG_IRQ_STATUS);

    write_register(platform, CONIC_REG_IRQ_STATUS, status);
    return CONIC_GET(CONIC_REG_IRQ_STATUS_WRITTEN, status) != 0;
}
