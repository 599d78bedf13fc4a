/** A draft whose questions are all answered with yes, and what becomes of its export then. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openExport } from '../../../../src/extract/open-export.ts'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { load, NOW } from '../../../../test/transform/mapping-under-test.ts'
import { draftCases } from '../../src/draft/draft-cases.ts'
import { draftSample } from '../../src/draft/draft-sample.ts'
import { readSample } from '../../src/draft/read-sample.ts'
import { draftText } from '../../src/draft/write-draft.ts'
import { factsOf } from '../../src/record-facts.ts'
import { parseCases, runCases, textReader } from '../../src/run-cases.ts'
import { vocabulary } from '../draft/drafting.ts'

export interface Finished {
  readonly text: string
  /** Lines with DECIDE. */
  readonly asked: readonly string[]
  /** `person key value date`, in order. */
  readonly records: readonly string[]
  readonly registered: readonly string[]
  readonly rejected: readonly string[]
}

/** @param answered changes the draft as its questions ask, besides the comments */
export async function finished(
  name: string,
  content: string,
  answered: (text: string) => string = (text) => text,
): Promise<Finished> {
  const folder = await temporaryFolder()
  const path = join(folder, name)
  await writeFile(path, content)
  const sample = draftSample('tried', name, await readSample(path, vocabulary), vocabulary)
  const text = draftText(sample.draft, 's.json')
  const asked = text.split('\n').filter((line) => line.includes('DECIDE'))
  const { biometrics, conditions, careTeams } = sample.draft
  // A skeleton, which says what was seen.
  if ([...biometrics, ...conditions, ...careTeams].every(({ yaml }) => yaml === undefined))
    return { text, asked, records: [], registered: [], rejected: [] }
  const mapping = load(answered(text))
  const opened = await openExport(path, mapping.read)
  const map = mapping.compiled.bind(opened.columns, name, NOW)
  const records: string[] = []
  const registered: string[] = []
  const rejected: string[] = []
  for await (const block of opened.rows())
    for (const row of block) {
      const outcome = map(row)
      if (outcome.outcome === 'rejected') rejected.push(`row: ${outcome.issue.code}`)
      if (outcome.outcome !== 'mapped') continue
      rejected.push(...outcome.rejected.map(({ rule, issue }) => `${rule}: ${issue.code}`))
      for (const record of outcome.records) {
        const { value, status, npi, observedAt } = factsOf(record)
        const key = record.rule.replace(/-\d+$/, '')
        records.push([outcome.account.reference, key, value ?? status ?? npi, observedAt].join(' '))
      }
      const registration = outcome.register()
      if (registration?.ok === true) registered.push(Object.values(registration.registration).join(' '))
    }
  await expectCases(draftCases(sample, mapping, 's.json'), mapping)
  return { text, asked, records, registered, rejected }
}

/** The cases of a draft are read as the export is. */
async function expectCases(cases: string, mapping: ReturnType<typeof load>): Promise<void> {
  const results = await runCases(mapping.compiled, parseCases(cases, 'cases').value, textReader(mapping.read))
  expect(results.length).toBeGreaterThan(0)
  for (const { found } of results) expect(found.map(({ outcome }) => outcome)).not.toContain('refused')
}
