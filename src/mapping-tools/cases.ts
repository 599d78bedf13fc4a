/**
 * Cases of a mapping (docs/mapping.md, "Cases"): rows with what is to become of them, in `NAME.cases.yaml` beside `NAME.yaml`.
 * Every scalar is the text that stands there, so that `5.10` needs no quotes.
 */
import { z } from 'zod'
import { parseYaml, type YamlFile } from '../yaml-file.ts'

const Texts = z.record(z.string(), z.string())

/** Facts of a record by name; a text alone is its value, or its status. */
const ToldRecord = z.union([z.string(), Texts])

/** What becomes of one row. */
const toldKeys = {
  outcome: z.enum(['mapped', 'skipped', 'rejected', 'refused']).optional(),
  /** Why it was left out, its reason code, or the error code that refuses the whole export. */
  reason: z.string().optional(),
  key: z.string().optional(),
  account: z.string().optional(),
  /** Of all records that say no other. */
  observedAt: z.string().optional(),
  /** Registration data, or the reason code why there is none. */
  register: z.union([z.string(), Texts]).optional(),
  /** By rule, in the order in which they are made. */
  records: z.record(z.string(), ToldRecord).optional(),
  /** Reason code by rule. */
  rejected: Texts.optional(),
  /** `rule: reason code`, or `row: reason code`. */
  warnings: z.array(z.string()).optional(),
}

const ToldRow = z.strictObject(toldKeys)
export type ToldRow = z.infer<typeof ToldRow>

/** In the order in which they are written. */
export const TOLD_KEYS = ToldRow.keyof().options

const Case = z
  .strictObject({
    name: z.string().min(1),
    /** Cells by column; columns that are not named are empty. */
    row: Texts.optional(),
    /** One JSON document, over as many lines as it takes. */
    document: z.string().optional(),
    /** An export as it stands, with its header. */
    text: z.string().optional(),
    ...toldKeys,
    /** Where the input holds several rows, or none: what becomes of each. */
    rows: z.array(ToldRow).optional(),
  })
  .refine((one) => [one.row, one.document, one.text].filter((input) => input !== undefined).length === 1, {
    message: 'needs one input: row, document or text',
  })
  .refine((one) => one.rows === undefined || TOLD_KEYS.every((key) => one[key] === undefined), {
    message: 'stands instead of outcome, records and the like, not beside them',
    path: ['rows'],
  })
export type Case = z.infer<typeof Case>

export const CaseFile = z.strictObject({
  /** The time by which dates lie in the future. Without it, none does. */
  now: z.iso.datetime({ offset: true }).optional(),
  /** Facts that every record has. */
  always: Texts.optional(),
  /** Facts that every record of a rule has: what its code is sent as. */
  rules: z.record(z.string(), Texts).optional(),
  /** Rows of the second exports that the mapping joins, for all cases: cells by column, or one JSON document each. */
  joins: z.record(z.string(), z.array(z.union([z.string(), Texts]))).optional(),
  cases: z.array(Case).min(1),
})
export type CaseFile = z.infer<typeof CaseFile>

/** @throws WaybillError `cases-invalid` with every problem and its line */
export function parseCases(text: string, file: string): YamlFile<CaseFile> {
  return parseYaml(text, file, CaseFile, 'cases-invalid', 'text')
}
