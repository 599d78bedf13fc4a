import { readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { receiveFile } from '../../../src/extract/sources/receive-file.ts'
import { temporaryFolder } from '../../temporary-folder.ts'

/** The listing of a source. */
const LISTED = 'onetwo'

const receive = async (pieces: readonly string[]): Promise<string> => {
  const file = join(await temporaryFolder(), 'a.csv')
  const read = async function* () {
    for (const piece of pieces) yield Buffer.from(piece)
  }
  return receiveFile(file, LISTED.length, 'sftp://x/a.csv', read).then(
    (received) => readFile(received, 'utf8'),
    async ({ code }: { code: string }) => `${code}, ${(await readdir(dirname(file))).length} files`,
  )
}

test.each([
  [['onetwo'], LISTED],
  [['one', 'two'], LISTED],
  [['one', 'two', ''], LISTED],
  [['one'], 'export-changed, 0 files'],
  [[], 'export-changed, 0 files'],
  [['one', 'tw'], 'export-changed, 0 files'],
  [['onetwo!'], 'export-changed, 0 files'],
  [['one', 'two!'], 'export-changed, 0 files'],
  [['onetwo', '!'], 'export-changed, 0 files'],
  [['one', 'two', '!'], 'export-changed, 0 files'],
  [['onetwothree', 'four'], 'export-changed, 0 files'],
])('what is listed with 6 bytes and comes as %j', async (pieces, received) => {
  expect(await receive(pieces)).toBe(received)
})
