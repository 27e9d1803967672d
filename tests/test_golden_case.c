/* Cases: from text to an id and back, and what is said of text that is none. */
#include "check_main.h"
#include "../golden/ops.h"

#include <string.h>

static const struct sb_op *const all_ops[] = {&sb_op_e8m0_upcast, &sb_op_topk_metadata, &sb_op_scale_pack,
                                              &sb_op_metadata_pack, &sb_op_wgrad_varlen_k};
static const struct sb_op_list ops = {all_ops, 5};

/* ---- canonical form ----------------------------------------------------------------------------- */

struct spelling {
    const char *typed, *id;
};

static const struct spelling spellings[] = {
    {"topk_metadata/N=5,topk=2,E=8", "topk_metadata/N=5,topk=2,E=8"},
    {"topk_metadata/E=8,N=5,topk=2", "topk_metadata/N=5,topk=2,E=8"},
    {"topk_metadata/route=uniform,block=128,E=8,idx=i64,topk=2,after=0,N=5", "topk_metadata/N=5,topk=2,E=8"},
    {"topk_metadata/N=005,topk=2,E=8,block=0016", "topk_metadata/N=5,topk=2,E=8,block=16"},
    {"topk_metadata/order=slot,N=5,idx=i32,topk=2,E=8", "topk_metadata/N=5,topk=2,E=8,idx=i32,order=slot"},
    {"scale_pack/cols=96,N=7,R=-1", "scale_pack/N=7,cols=96"},
    {"scale_pack/cols=96,N=7,R=7", "scale_pack/N=7,cols=96,R=7"},
    {"e8m0_upcast/semantics=te,shape=4x4,out_dtype=f32", "e8m0_upcast/shape=4x4,semantics=te"},
    {"wgrad_varlen_k/counts=1+2,E=2,N=8,M=8,first=-0", "wgrad_varlen_k/M=8,N=8,E=2,counts=1+2"},
};

START_TEST(spelling_is_made_canonical)
{
    struct sb_case c, again;
    struct sb_error err;
    const struct spelling *s = &spellings[_i];
    ck_assert_msg(sb_case_parse(&c, &ops, s->typed, &err), "%s", err.text);
    ck_assert_str_eq(c.id, s->id);
    ck_assert(sb_case_parse(&again, &ops, c.id, &err));
    ck_assert_str_eq(again.id, c.id);
    ck_assert_uint_eq(again.seed, c.seed);
}
END_TEST

START_TEST(seed_is_the_digest_of_the_id)
{
    /* sha256("e8m0_upcast/shape=scalar,semantics=torch"), first eight bytes, little endian */
    struct sb_case c;
    struct sb_error err;
    ck_assert(sb_case_parse(&c, &ops, "e8m0_upcast/shape=scalar,semantics=torch", &err));
    ck_assert_uint_eq(c.seed, UINT64_C(0x931e6112314ad119));
}
END_TEST

START_TEST(values_are_read)
{
    struct sb_case c;
    struct sb_error err;
    ck_assert(sb_case_parse(&c, &ops, "metadata_pack/N=5,topk=2,E=8,order=slot,cols=96,carrier=i32,fill=127", &err));
    ck_assert_int_eq(sb_case_int(&c, "N"), 5);
    ck_assert_int_eq(sb_case_int(&c, "order"), 1);
    ck_assert_str_eq(sb_case_text(&c, "order"), "slot");
    ck_assert_int_eq(sb_case_int(&c, "fill"), 127);
    ck_assert_str_eq(sb_case_text(&c, "fill"), "127");
    ck_assert_int_eq(sb_case_int(&c, "carrier"), 2);
    ck_assert_int_eq(sb_case_int(&c, "block"), 128);
}
END_TEST

START_TEST(natural_sizes_are_resolved)
{
    struct sb_case c;
    struct sb_error err;
    struct sb_derived derived[SB_MAX_DERIVED];
    ck_assert(sb_case_parse(&c, &ops, "scale_pack/N=7,cols=97", &err));
    ck_assert_int_eq(sb_case_int(&c, "R"), 7);
    ck_assert_str_eq(sb_case_text(&c, "R"), "-1");
    ck_assert_int_eq(c.op->derived(&c, derived, SB_MAX_DERIVED), 1);
    ck_assert_str_eq(derived[0].name, "S");
    ck_assert_int_eq(derived[0].value, 4);
    ck_assert(sb_case_parse(&c, &ops, "wgrad_varlen_k/M=8,N=8,E=2,counts=10+5,first=3,tail=4", &err));
    ck_assert_int_eq(sb_case_int(&c, "x_rows"), 22);
    ck_assert_int_eq(c.op->derived(&c, derived, SB_MAX_DERIVED), 2);
    ck_assert_str_eq(derived[0].name, "T");
    ck_assert_int_eq(derived[0].value, 22);
    ck_assert_str_eq(derived[1].name, "Tx");
    ck_assert_int_eq(derived[1].value, 22);
}
END_TEST

START_TEST(suite_rows_bring_their_reason)
{
    struct sb_case c;
    struct sb_error err;
    ck_assert(sb_case_parse(&c, &ops, "metadata_pack/cols=7168,E=8,topk=8,N=116000", &err));
    ck_assert_uint_eq(c.suites, SB_SEED);
    ck_assert_ptr_nonnull(strstr(c.reason, "208044032"));
    ck_assert(sb_case_parse(&c, &ops, "metadata_pack/cols=7168,E=8,topk=8,N=116001", &err));
    ck_assert_uint_eq(c.suites, 0);
    ck_assert_str_eq(c.reason, "");
}
END_TEST

START_TEST(prelude_is_the_larger_call)
{
    struct sb_case c, first;
    struct sb_error err;
    char id[SB_ID_SIZE];
    ck_assert(sb_case_parse(&c, &ops, "topk_metadata/N=40,topk=4,E=8,order=slot,after=5000", &err));
    ck_assert_ptr_nonnull(c.op->prelude(&c, id, sizeof id));
    ck_assert_str_eq(id, "topk_metadata/N=5000,topk=4,E=8,order=slot");
    ck_assert_msg(sb_case_parse(&first, &ops, id, &err), "%s", err.text);
    ck_assert_ptr_null(first.op->prelude(&first, id, sizeof id));
}
END_TEST

/* ---- what is refused ---------------------------------------------------------------------------- */

struct refusal {
    const char *typed, *said; /* a part of the message */
};

static const struct refusal refusals[] = {
    {"", "op/name=value"},
    {"topk_metadata", "op/name=value"},
    {"topk_metadta/N=1", "did you mean topk_metadata"},
    {"TOPK/N=1", "known: e8m0_upcast"},
    {"e8m0/shape=1", "did you mean e8m0_upcast"},
    {"pack/N=1", "scale_pack"},
    {"/N=1", "no op named"},
    {"topk_metadata/N=5,topk=2,E=8,blok=16", "did you mean block"},
    {"topk_metadata/N=5,topk=2,E=8,expert=16", "known: N, topk, E"},
    {"topk_metadata/N=5,top=2,E=8", "did you mean topk"},
    {"topk_metadata/n=5,topk=2,E=8", "did you mean N"},
    {"topk_metadata/N=5,topk=2,E=8,route=unifrom", "did you mean uniform"},
    {"topk_metadata/N=5,topk=2,E=8,route=xyz", "known: uniform, holes"},
    {"topk_metadata/N=5,topk=2,E=8,route=0", "known: uniform"},
    {"topk_metadata/N=5,topk=2,E=8,idx=I32", "did you mean i"},
    {"e8m0_upcast/shape=4,semantics=tourch", "did you mean torch"},
    {"topk_metadata/N=5,topk=2", "needs E="},
    {"topk_metadata/", "needs N="},
    {"topk_metadata/N=5,N=5,topk=2,E=8", "N is given twice"},
    {"topk_metadata/N=5,topk=2,E=8,", "not name=value"},
    {"topk_metadata/N=5,,topk=2,E=8", "not name=value"},
    {"topk_metadata/,N=5,topk=2,E=8", "not name=value"},
    {"topk_metadata/N,topk=2,E=8", "not name=value"},
    {"topk_metadata/=5,topk=2,E=8", "not name=value"},
    {"topk_metadata/N=,topk=2,E=8", "whole number"},
    {"topk_metadata/N=-,topk=2,E=8", "whole number"},
    {"topk_metadata/N=1e3,topk=2,E=8", "whole number"},
    {"topk_metadata/N=+5,topk=2,E=8", "whole number"},
    {"topk_metadata/N=0x10,topk=2,E=8", "whole number"},
    {"topk_metadata/N=5=5,topk=2,E=8", "whole number"},
    {"topk_metadata/N=9223372036854775808,topk=2,E=8", "64 bits"},
    {"topk_metadata/N=-9223372036854775809,topk=2,E=8", "64 bits"},
    {"topk_metadata/N=18446744073709551617,topk=2,E=8", "64 bits"},
    {"topk_metadata/N=9223372036854775807,topk=2,E=8", "outside 0.."},
    {"topk_metadata/N=-9223372036854775808,topk=2,E=8", "outside 0.."},
    {"topk_metadata/N=-1,topk=2,E=8", "outside 0.."},
    {"scale_pack/N=1,cols=1,fill=256", "outside 0..255"},
    {"scale_pack/N=1,cols=1,R=-2", "outside -1.."},
    {"e8m0_upcast/shape=1,semantics=te,misalign=16", "outside 0..15"},
    {"e8m0_upcast/shape=1,semantics=te,misalign_out=3", "multiples of 4 bytes"},
    {"e8m0_upcast/shape=1,semantics=te,out_dtype=bf16,misalign_out=3", "multiples of 2 bytes"},
    {"e8m0_upcast/shape=1,semantics=te,misalign_out=16", "outside 0..15"},
    {"scale_pack/N=1,cols=128,carrier=i32x4,misalign=6", "multiples of 4 bytes"},
    {"metadata_pack/N=1,topk=1,E=1,cols=128,carrier=i32,misalign=1", "multiples of 4 bytes"},
    {"topk_metadata/N=5,topk=2,E=8,counts=aligned", "counts_align"},
    {"topk_metadata/N=5,topk=2,E=8,counts=exact,counts_align=16", "counts=aligned"},
    {"topk_metadata/N=5,topk=2,E=3,route=ends_empty", "at least 4"},
    {"topk_metadata/N=5,topk=2,E=3,route=all_experts", "topk equal to E"},
    {"topk_metadata/N=5,topk=1,E=3,route=duplicate", "topk of at least 2"},
    {"topk_metadata/N=5,topk=3,E=8,route=duplicate_nested", "topk of at least 4"},
    {"topk_metadata/N=5,topk=4,E=3,route=duplicate_nested", "E of at least topk"},
    {"topk_metadata/N=0,topk=4,E=8,route=duplicate_nested", "N of at least 1"},
    {"topk_metadata/N=5,topk=1,E=8,route=duplicate_adjacent", "topk of at least 2"},
    {"topk_metadata/N=100,topk=2,E=3,route=exact_block", "a block"},
    {"topk_metadata/N=50,topk=2,E=3,after=50", "must exceed N"},
    {"topk_metadata/N=1000000000,topk=2,E=3", "smaller N"},
    {"e8m0_upcast/shape=,semantics=te", "empty"},
    {"e8m0_upcast/shape=4x,semantics=te", "one to four extents"},
    {"e8m0_upcast/shape=x4,semantics=te", "one to four extents"},
    {"e8m0_upcast/shape=04x4,semantics=te", "leading zeros"},
    {"e8m0_upcast/shape=1x2x3x4x5,semantics=te", "one to four extents"},
    {"e8m0_upcast/shape=-4,semantics=te", "one to four extents"},
    {"e8m0_upcast/shape=65536x65536,semantics=te", "smaller"},
    {"e8m0_upcast/shape=99999999999999999999,semantics=te", "one to four extents"},
    {"e8m0_upcast/shape=7,semantics=te,row_stride=9", "at least two extents"},
    {"wgrad_varlen_k/M=8,N=8,E=3,counts=1+2", "E=3"},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=1+2", "E=1"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=1+02", "leading zeros"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=1+-2", "leading zeros"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=1+2,tokens=3", "leave tokens"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=equal", "tokens="},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=even,tokens=3", "known: equal"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=empty,tokens=3", "leaves no room"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=1+2,break=gather_high", "needs a gather"},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=1,break=descending", "at least 2"},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=1,break=misaligned_main_grad", "accumulate=1"},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=1,in_place=1", "accumulate=1"},
    {"wgrad_varlen_k/M=8,N=8,E=1,counts=1,accumulate=1,in_place=1,out_dtype=bf16", "out_dtype=f32"},
    {"wgrad_varlen_k/M=8,N=8,E=2,counts=9999999999+2", "lengths"},
    {"wgrad_varlen_k/M=131072,N=131072,E=2,counts=1+2", "elements"},
    {"scale_pack/N=2000000000,cols=2000000000", "GiB"},
    /* what a shell, a path or a terminal would make something of */
    {"topk_metadata/N=5,topk=2,E=8;ls", "character 0x3b"},
    {"topk_metadata/N=5 ,topk=2,E=8", "character 0x20"},
    {"topk_metadata/../N=5", "character 0x2f"},
    {"topk_metadata/N=5,topk=2,E=$8", "character 0x24"},
    {"topk_metadata/N=5,topk=2,E=8\n", "character 0x0a"},
    {"topk_metadata/N=5,topk=2,E=\xc3\xa4", "character 0xc3"},
};

START_TEST(bad_text_is_refused)
{
    struct sb_case c;
    struct sb_error err = {SB_EXIT_OK, ""};
    const struct refusal *r = &refusals[_i];
    ck_assert_msg(!sb_case_parse(&c, &ops, r->typed, &err), "accepted: %s", r->typed);
    ck_assert_int_eq(err.exit, SB_EXIT_BAD_INPUT);
    ck_assert_msg(strstr(err.text, r->said) != NULL, "'%s' does not say '%s'", err.text, r->said);
    ck_assert_ptr_null(strchr(err.text, '\n'));
}
END_TEST

START_TEST(long_text_is_refused)
{
    char text[4096];
    struct sb_case c;
    struct sb_error err;
    strcpy(text, "wgrad_varlen_k/M=8,N=8,E=1000,counts=");
    for (int i = 0; i < 64; i++) /* 128 characters: one too many for a value */
        strcat(text, i == 0 ? "1" : "+1");
    strcat(text, "1");
    ck_assert(!sb_case_parse(&c, &ops, text, &err));
    ck_assert_msg(strstr(err.text, "longer than 127") != NULL, "%s", err.text);
    strcpy(text, "topk_metadata/N=");
    memset(text + strlen(text), '0', 3000);
    strcpy(text + 3000, "5,topk=1,E=1");
    ck_assert(!sb_case_parse(&c, &ops, text, &err));
    ck_assert_msg(strstr(err.text, "too long") != NULL, "%s", err.text);
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    ck_assert(!sb_case_parse(&c, &ops, text, &err));
    ck_assert_uint_lt(strlen(err.text), sizeof err.text);
}
END_TEST

START_TEST(longest_id_fits_or_is_refused)
{
    /* A list of 127 characters and every parameter away from its default: refused, not cut. */
    char text[1024], list[128] = "1";
    struct sb_case c;
    struct sb_error err;
    for (int i = 0; i < 63; i++)
        strcat(list, "+1");
    snprintf(
        text, sizeof text,
        "wgrad_varlen_k/M=8,N=8,E=64,counts=%s,first=1,tail=2,x_rows=100000,gather=identity,accumulate=1,"
        "out_dtype=bf16,ld_dy=1000,ld_x=1000,dist=subnormal,outside=normal,grad=special,break=gather_negative,repeat=9",
        list);
    ck_assert(!sb_case_parse(&c, &ops, text, &err));
    ck_assert_msg(strstr(err.text, "longer than 223") != NULL, "%s", err.text);
    snprintf(text, sizeof text, "wgrad_varlen_k/M=8,N=8,E=64,counts=%s,first=1,tail=2", list);
    ck_assert_msg(sb_case_parse(&c, &ops, text, &err), "%s", err.text);
}
END_TEST

START_TEST(lengths_are_written_in_one_way)
{
    int64_t value = -1;
    ck_assert_str_eq(sb_read_length("0x7", 100, &value), "x7");
    ck_assert_int_eq(value, 0);
    ck_assert_str_eq(sb_read_length("100", 100, &value), "");
    ck_assert_int_eq(value, 100);
    ck_assert_str_eq(sb_read_length("9223372036854775807", INT64_MAX, &value), "");
    ck_assert_int_eq(value, INT64_MAX);
    const char *const refused[] = {"", "x", "+1", "-1", " 1", "01", "00", "101", "9223372036854775808"};
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        ck_assert_msg(sb_read_length(refused[i], i < 8 ? 100 : INT64_MAX, &value) == NULL, "'%s'", refused[i]);
}
END_TEST

/* ---- errors and distances ----------------------------------------------------------------------- */

START_TEST(edit_distances)
{
    ck_assert_int_eq(sb_edit_distance("", ""), 0);
    ck_assert_int_eq(sb_edit_distance("abc", "abc"), 0);
    ck_assert_int_eq(sb_edit_distance("abc", ""), 3);
    ck_assert_int_eq(sb_edit_distance("", "abcd"), 4);
    ck_assert_int_eq(sb_edit_distance("kitten", "sitting"), 3);
    ck_assert_int_eq(sb_edit_distance("flaw", "lawn"), 2);
    ck_assert_int_eq(sb_edit_distance("block", "blok"), 1);
    ck_assert_int_eq(sb_edit_distance("ab", "ba"), 2);
}
END_TEST

START_TEST(context_goes_in_front)
{
    struct sb_error err;
    ck_assert(!sb_fail(&err, SB_EXIT_NOTHING_RAN, "no %s", "memory"));
    ck_assert(!sb_fail_context(&err, "case %d", 7));
    ck_assert_str_eq(err.text, "case 7: no memory");
    ck_assert_int_eq(err.exit, SB_EXIT_NOTHING_RAN);
    ck_assert(!sb_fail(&err, SB_EXIT_BAD_INPUT, "again: %s", err.text)); /* an argument inside the error itself */
    ck_assert_str_eq(err.text, "again: case 7: no memory");
}
END_TEST

START_TEST(long_errors_are_cut_not_overrun)
{
    struct sb_error err;
    char text[3000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    sb_fail(&err, SB_EXIT_BAD_INPUT, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    sb_fail_context(&err, "front");
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
    ck_assert_int_eq(strncmp(err.text, "front: xxx", 10), 0);
    sb_fail_context(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.text), sizeof err.text - 1);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("golden/case");
    TCase *form = tcase_create("form");
    tcase_add_loop_test(form, spelling_is_made_canonical, 0, sizeof spellings / sizeof spellings[0]);
    tcase_add_test(form, seed_is_the_digest_of_the_id);
    tcase_add_test(form, values_are_read);
    tcase_add_test(form, natural_sizes_are_resolved);
    tcase_add_test(form, suite_rows_bring_their_reason);
    tcase_add_test(form, prelude_is_the_larger_call);
    suite_add_tcase(suite, form);
    TCase *refused = tcase_create("refused");
    tcase_add_loop_test(refused, bad_text_is_refused, 0, sizeof refusals / sizeof refusals[0]);
    tcase_add_test(refused, long_text_is_refused);
    tcase_add_test(refused, lengths_are_written_in_one_way);
    tcase_add_test(refused, longest_id_fits_or_is_refused);
    suite_add_tcase(suite, refused);
    TCase *errors = tcase_create("errors");
    tcase_add_test(errors, edit_distances);
    tcase_add_test(errors, context_goes_in_front);
    tcase_add_test(errors, long_errors_are_cut_not_overrun);
    suite_add_tcase(suite, errors);
    return suite;
}
