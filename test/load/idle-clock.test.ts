/** The clock stands while this process works, whatever other threads and processes do for it. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { createGunzip, gzip, gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { emptySchema, rowsOf } from '../postgres/server.ts'
import { createIdleClock } from './idle-clock.ts'

const ZEROS = Buffer.alloc(16 * 1024 ** 2)

test.each<[string, () => Promise<unknown>]>([
  ['a file that is read', () => readFile(import.meta.filename)],
  ['a file that is closed', async () => (await open(import.meta.filename)).close()],
  ['what is compressed', () => promisify(gzip)(ZEROS)],
  ['what is not compressed data', () => once(createGunzip().end('text'), 'end').catch(() => {})],
  [
    'pieces that are decompressed',
    () =>
      createGunzip()
        .end(gzipSync(ZEROS))
        .forEach(() => {}),
  ],
  ['another process', () => once(spawn(process.execPath, ['--version']), 'close')],
])('it stands for %s', async (_, work) => {
  const clock = createIdleClock(0)
  const waking = clock.sleep(1000, new AbortController().signal)
  await work()
  expect(clock.now).toBe(0)
  await waking
  expect(clock.now).toBe(1000)
})

test('it stands for a connection and a statement of PostgreSQL', async () => {
  const url = await emptySchema()
  const clock = createIdleClock(0)
  const waking = clock.sleep(1000, new AbortController().signal)
  await rowsOf(url, 'select pg_sleep(0.1)')
  expect(clock.now).toBe(0)
  await waking
  expect(clock.now).toBe(1000)
})
