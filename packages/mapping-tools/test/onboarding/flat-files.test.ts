/** Drafts of flat files of several record types, finished by answering yes to all that they ask: no record is wrong, and none is missing. */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../../../../test/temporary-folder.ts'
import { readSample } from '../../src/draft/read-sample.ts'
import { vocabulary } from '../draft/drafting.ts'
import { finished } from './finished.ts'
import { inventFlatFiles, TABLES } from './flat-files.ts'

test.each(
  [20260302, 7, 11].flatMap((seed) => inventFlatFiles(seed).map((one) => [one.name, seed, one] as const)),
)('%s, seed %i', async (_, __, { name, content, truth, says }) => {
  const { text, records, rejected } = await finished(name, content)
  expect([...records].sort()).toEqual([...truth].sort())
  expect(rejected).toEqual([])
  for (const line of says) expect(text).toContain(line)
})

test.each(TABLES)('%s: no records of several types', async (_, content) => {
  const folder = await temporaryFolder()
  const path = join(folder, 'table.csv')
  await writeFile(path, content)
  expect((await readSample(path, vocabulary)).kind).toBe('table')
})
