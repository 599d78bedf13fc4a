/** Exports that may be cut: by how their text ends, by how the one before ended, and by who vouches for them. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { DEFAULT_LIMITS } from '../../src/extract/content.ts'
import { readDefinition } from '../../src/extract/read-definition.ts'
import type { Ledger } from '../../src/ledger/ledger.ts'
import { judgeEnd } from '../../src/run/judge-end.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const CSV = { format: 'csv' }
const HL7 = { format: 'hl7v2' }
const OPEN_BATCH = 'BHS|^~\\&|lab\rMSH|^~\\&|lab\r'
const UNSURE = { isEnded: false, finding: expect.objectContaining({ measure: 'end', level: 'warn' }) }
const NO_LINE_END = 'the last line has no line end; the previous export had one'
const NO_BATCH_END = 'a batch begins with BHS and does not end'

type Before = 'read' | 'ended' | 'open' | undefined

test.each<[string, object, Before, boolean, object | string]>([
  ['id\n1\n', CSV, 'ended', false, { isEnded: true }],
  ['id\n1\n', CSV, undefined, false, { isEnded: true }],
  ['id\n1', CSV, 'ended', false, NO_LINE_END],
  ['id\n1', CSV, 'ended', true, { isEnded: false }],
  ['id\n1', CSV, 'open', false, { isEnded: false }],
  ['id\n1', CSV, 'read', false, { isEnded: false }],
  ['id\n1', CSV, undefined, false, UNSURE],
  ['[1', { format: 'json' }, 'ended', false, { isEnded: undefined }],
  [OPEN_BATCH, HL7, 'ended', false, NO_BATCH_END],
  [OPEN_BATCH, HL7, undefined, false, NO_BATCH_END],
  [OPEN_BATCH, HL7, 'read', false, { isEnded: true }],
  [OPEN_BATCH, HL7, 'ended', true, { isEnded: true }],
  [`${OPEN_BATCH}BTS|1\r`, HL7, 'ended', false, { isEnded: true }],
])('%j, %j, after one that is %s, vouched for: %j', async (text, read, before, isVouched, expected) => {
  const file = join(await temporaryFolder(), 'export')
  await writeFile(file, text)
  const asked: unknown[] = []
  const lastEnd = async (...of: unknown[]): Promise<Before> => {
    asked.push(of)
    return before
  }
  const mapping = { name: 'm', read: readDefinition.parse(read) }
  const received = { address: 'in/export', file, limits: DEFAULT_LIMITS, version: undefined }
  const judged = judgeEnd(
    received as unknown as Parameters<typeof judgeEnd>[0],
    mapping,
    'sum',
    { ledger: { exports: { lastEnd } as unknown as Ledger['exports'] }, job: 'nightly' },
    isVouched,
  )
  if (typeof expected === 'string')
    await expect(judged).rejects.toMatchObject({
      code: 'export-cut',
      message: `The export may be cut: ${expected}. Nothing of it was sent.`,
      place: { file: 'in/export' },
    })
  else expect(await judged).toEqual(expected)
  for (const of of asked) expect(of).toEqual([{ job: 'nightly', mapping: 'm' }, 'sum'])
})
