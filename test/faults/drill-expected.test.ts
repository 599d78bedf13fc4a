/** What the drill expects, written by hand, is what the mapping previews: neither is drawn from the other. */
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { z } from 'zod'
import { textOf } from '../../drill/expected-records.ts'
import { drillExports } from '../../drill/exports.ts'
import { createWorkplace, PROJECT } from '../cli/command-line.ts'

const Sent = z.looseObject({ source: z.looseObject({ meta: z.looseObject({}) }) })
const PreviewedRow = z.looseObject({
  row: z.int(),
  outcome: z.string(),
  records: z.array(Sent).default([]),
})

const withoutIds = ({ transactionId: _, source, ...record }: z.infer<typeof Sent>): string => {
  const { batchId: _batch, persistentRecordId: _id, ...meta } = source.meta
  return textOf({ ...record, source: { ...source, meta } })
}

it('expects of each row what its mapping makes of it', async () => {
  const workplace = await createWorkplace({ WAYBILL_MAPPINGS: 'mappings' })
  const mappings = join(workplace.folder, 'mappings')
  await cp(join(PROJECT, 'drill/mappings'), mappings, { recursive: true })
  await cp(join(PROJECT, 'mappings/catalog'), join(mappings, 'catalog'), { recursive: true })
  const exports = drillExports(3, 2, {
    exports: 6,
    rows: 60,
    people: 30,
    dirt: true,
    doctors: 5,
    nested: 0.4,
  })
  for (const kind of ['wide', 'nested']) {
    const one = exports.find(({ name }) => name.includes(kind))
    if (one === undefined) throw new Error(`no ${kind} export was drawn`)
    await writeFile(join(workplace.folder, one.name), one.text)
    const { out, err } = await workplace.waybill(
      ...['mapping', 'preview', `drill-${kind}`, one.name, '--limit', '1000', '--json'],
    )
    // Values that were drawn are suspicious, and may be.
    expect(err.replace(/^Suspicious\n(?: {2}.*\n)+\n?/, '')).toBe('')
    const rows = out
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => PreviewedRow.parse(JSON.parse(line)))
    const counted = Object.fromEntries(
      ['mapped', 'skipped', 'rejected'].map((outcome) => [
        outcome,
        rows.filter((row) => row.outcome === outcome).length,
      ]),
    )
    expect({ read: rows.length, ...counted }).toEqual(one.rows)
    expect(
      rows.flatMap(({ row, records }) => records.map((record) => `${row} ${withoutIds(record)}`)).sort(),
    ).toEqual(one.told.map(({ row, text }) => `${row} ${text}`).sort())
  }
})
