import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { CHUNK_SIZE } from '../../src/run/chunks.ts'
import { ANN, BEN, type Clinic, GOOD, HEADER, JOB, openClinic } from './clinic.ts'
import { type Summary, summaryOf } from './command-line.ts'
import { showOf } from './left-behind.ts'
import { readRejects } from './run-outputs.ts'

const DAN = 'dan,2026-03-02,400,99,73.5,kg,fine\n'

/** Writes the corrected rejects beside the job, under another name, and runs them. */
async function runCorrected(
  clinic: Clinic,
  before: Summary,
  correct: (text: string) => string,
  name = 'corrected.csv',
): Promise<{ code: number | null; out: string; err: string }> {
  const text = await readFile(before.exports[0]?.rejects ?? '', 'utf8')
  const path = join(clinic.workplace.folder, name)
  await writeFile(path, correct(text))
  return clinic.run('--file', path)
}

describe('a corrected rejects file', () => {
  test('is run as an export: only what was rejected is sent, under its original ids, and it settles the rejects', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${DAN}${BEN}`)
    const before = summaryOf(await clinic.run())
    expect(before.records.biometric).toMatchObject({ made: 9, accepted: 7, rejected: 2 })

    const ended = await runCorrected(clinic, before, (text) => text.replaceAll('400,99', '64,5.4'))
    expect(ended.code).toBe(0)
    const after = summaryOf(ended)
    // A line for each of the two records, and each stands for its own.
    expect(after).toMatchObject({ balanced: true, rows: { read: 2, mapped: 2 } })
    expect(after.records.biometric).toMatchObject({ made: 2, accepted: 2, unchanged: 0 })
    const dan = ['dan body-weight 73.5', 'dan hba1c 5.4', 'dan heart-rate 64']
    expect(await clinic.stored()).toEqual([...GOOD, ...dan])
    const ids = (await clinic.store.records('biometric')).map((one) => one.source.meta.persistentRecordId)
    expect(ids.every((id) => id.startsWith(before.exports[0]?.sha256.slice(0, 16) ?? ''))).toBe(true)
    const shown = await showOf(clinic, before.run)
    expect(shown.settled).toEqual([{ run: after.run, count: 2 }])

    const pulse = ids.find((id) => id.includes('-000002-heart-rate-')) ?? ''
    const { out } = await clinic.workplace.waybill('trace', pulse)
    expect(out).toContain('Export       day.csv ')
    expect(out).toContain('Row          2, line 3')
    expect(out).toContain(`Run          ${after.run}, chunk 1: accepted`)

    const again = await runCorrected(clinic, before, (text) => text.replaceAll('400,99', '64,5.4'))
    expect(again.code).toBe(0)
    expect(summaryOf(again).records.biometric).toMatchObject({ made: 2, unchanged: 2 })
  })

  test('has its columns whichever chunk has the first reject, and can be run', async () => {
    const clinic = await openClinic()
    const fine = 'nobody,2026-03-02,,,,,none\n'.repeat(CHUNK_SIZE.rows)
    await clinic.deliver('day.csv', `${HEADER}${fine}${ANN.replace(',61,', ',610,')}${fine}${DAN}`)
    const before = summaryOf(await clinic.run())
    expect(before.records.biometric).toMatchObject({ made: 6, accepted: 3, rejected: 3 })
    const lines = await readRejects(before.exports[0]?.rejects ?? '')
    expect(lines.map(({ id, _rule }) => `${id} ${_rule}`)).toEqual([
      'ann heart-rate',
      'dan heart-rate',
      'dan hba1c',
    ])
    const ended = await runCorrected(clinic, before, (text) =>
      text.replace('610', '61').replaceAll('400,99', '64,5.4'),
    )
    expect(ended.code).toBe(0)
    expect(summaryOf(ended).records.biometric).toMatchObject({ made: 3, accepted: 3 })
  })

  test('of which some lines were not corrected: those are rejected again, and can be corrected again', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day.csv', `${HEADER}${ANN}${DAN}${BEN}`)
    const before = summaryOf(await clinic.run())
    const once = await runCorrected(clinic, before, (text) => text.replaceAll('400,', '64,'))
    expect(once.code).toBe(1)
    const half = summaryOf(once)
    expect(half.records.biometric).toMatchObject({ made: 2, accepted: 1, rejected: 1 })
    const [line, ...others] = await readRejects(half.exports[0]?.rejects ?? '')
    expect(others).toEqual([])
    expect(line).toMatchObject({ _export: 'day.csv', _row: '2', _line: '3', _rule: 'hba1c' })
    expect((await showOf(clinic, before.run)).settled).toEqual([{ run: half.run, count: 1 }])

    const twice = await runCorrected(clinic, half, (text) => text.replaceAll(',99,', ',5.4,'), 'again.csv')
    expect(twice.code).toBe(0)
    expect((await showOf(clinic, before.run)).settled?.map(({ count }) => count)).toEqual([1, 1])
    expect((await showOf(clinic, half.run)).settled).toEqual([{ run: summaryOf(twice).run, count: 1 }])
    expect(await clinic.stored()).toHaveLength(9)
  })

  test('of an export in another dialect is read as what it is', async () => {
    const mapping = `mapping: clinic
read: { format: csv, delimiter: ";", encoding: windows-1252, header: none, columns: [id, day, pulse, remark] }
row:
  key: [id, day]
  account: { reference: id, type: partnerAccountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics: { heart-rate: pulse }
`
    const clinic = await openClinic({ mapping })
    await clinic.deliver(
      'day.csv',
      Buffer.from('ann;2026-03-02;61;"a;\nü"\nben;2026-03-02;999;"b;\nü"\nshort\n', 'latin1'),
    )
    const before = summaryOf(await clinic.run())
    expect(before).toMatchObject({ rows: { read: 3, mapped: 2, rejected: 1 } })
    const ended = await runCorrected(clinic, before, (text) =>
      text.replace(',999,', ',62,').replace(/^,,,,(.*),short$/m, 'cid,2026-03-02,63,,$1,'),
    )
    expect(ended.code).toBe(0)
    const after = summaryOf(ended)
    expect(after).toMatchObject({ rows: { read: 2, mapped: 2 } })
    expect((await showOf(clinic, before.run)).settled).toEqual([{ run: after.run, count: 2 }])
    expect(await clinic.stored()).toEqual(['ann heart-rate 61', 'ben heart-rate 62', 'cid heart-rate 63'])
  })

  test('of JSON holds the documents, and what stood around them', async () => {
    const mapping = `mapping: clinic
read: { format: json, records: "$.people[*].person", context: { day: $.day } }
row:
  key: [$.id, context.day]
  account: { reference: $.id, type: partnerAccountId }
  observedAt: { from: context.day, format: yyyy-MM-dd, zone: America/New_York }
  source: { name: Clinic, type: screening, sendingSystem: clinic }
biometrics: { heart-rate: $.pulse }
`
    const clinic = await openClinic({ mapping })
    const people = [
      { person: { id: 'ann', pulse: 61 } },
      { person: { id: 'ben', pulse: 999 } },
      { nobody: 1 },
    ]
    await clinic.deliver('day.csv', JSON.stringify({ day: '2026-03-02', people }))
    const before = summaryOf(await clinic.run())
    expect(before).toMatchObject({ rows: { read: 3, mapped: 2, rejected: 1 } })
    const ended = await runCorrected(clinic, before, (text) =>
      text.replace('999', '62').replace('nobody"":1', 'person"":{""id"":""cid"",""pulse"":63}'),
    )
    expect(ended.code).toBe(0)
    expect(await clinic.stored()).toEqual(['ann heart-rate 61', 'ben heart-rate 62', 'cid heart-rate 63'])
    expect((await showOf(clinic, before.run)).settled).toEqual([{ run: summaryOf(ended).run, count: 2 }])
  })

  test('of a job of several sources goes by the name of the export that it came from', async () => {
    const clinic = await openClinic({ job: JOB.replace('"*.csv"', '"day*.csv"') })
    await clinic.deliver('day.csv', `${HEADER}${DAN}`)
    const before = summaryOf(await clinic.run())
    expect((await runCorrected(clinic, before, (text) => text)).code).toBe(1)
    const dry = await clinic.run('--dry-run', '--file', before.exports[0]?.rejects ?? '')
    expect(JSON.parse(dry.out)).toMatchObject({
      rows: { read: 2, mapped: 2 },
      records: { biometric: { made: 2 } },
    })
  })

  test('whose origin was changed is refused, with the line, and nothing is sent', async () => {
    const clinic = await openClinic()
    await clinic.deliver('day.csv', `${HEADER}${DAN}`)
    const before = summaryOf(await clinic.run())
    const ended = await runCorrected(clinic, before, (text) => text.replace(/,01,2,hba1c,/, ',x,2,hba1c,'))
    expect(ended.code).toBe(2)
    expect(ended.err).toMatch(/error export-unreadable[\s\S]*corrected\.csv:[23]/)
    expect((await clinic.stored()).length).toBe(1)
  })
})
