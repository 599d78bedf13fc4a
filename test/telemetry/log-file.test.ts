import { execFile } from 'node:child_process'
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createLogFile } from '../../src/telemetry/logger.ts'
import { NEEDS_CLOCK_OF_FILES } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'

function open(path: string, maxBytes = 1_000, files = 3) {
  const problems: string[] = []
  return { write: createLogFile({ path, maxBytes, files }, Date.now, (one) => problems.push(one)), problems }
}

/** Name → content of what there is. */
async function contents(path: string): Promise<Record<string, string>> {
  const names = (await readdir(path)).sort()
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(path, name), 'utf8')] as const)),
  )
}

test('a file that would be too large is put aside, and as many are kept as are wanted', async () => {
  const at = await temporaryFolder()
  const { write, problems } = open(join(at, 'w.log'), 20, 3)
  for (let n = 1; n <= 9; n++) write(`line ${n}--\n`)
  expect(await contents(at)).toEqual({
    'w.log': 'line 9--\n',
    'w.log.1': 'line 7--\nline 8--\n',
    'w.log.2': 'line 5--\nline 6--\n',
  })
  expect(problems).toEqual([])
})

test('one file alone is begun anew; a line that is longer than a file is written all the same', async () => {
  const at = await temporaryFolder()
  const { write } = open(join(at, 'w.log'), 5, 1)
  write('a\n')
  write('longer than it may be\n')
  expect(await contents(at)).toEqual({ 'w.log': 'longer than it may be\n' })
})

test('an empty file is not put aside, however long the line is', async () => {
  const at = await temporaryFolder()
  await writeFile(join(at, 'w.log'), '')
  open(join(at, 'w.log'), 5).write('longer than it may be\n')
  expect(await contents(at)).toEqual({ 'w.log': 'longer than it may be\n' })
})

test('file and folder are for their owner alone', async () => {
  const at = await temporaryFolder()
  open(join(at, 'logs/w.log')).write('a\n')
  expect((await stat(join(at, 'logs/w.log'))).mode & 0o777).toBe(0o600)
  expect((await stat(join(at, 'logs'))).mode & 0o777).toBe(0o700)
})

test('where another program has put the file aside, the next line begins a new one', async () => {
  const at = await temporaryFolder()
  const { write } = open(join(at, 'w.log'))
  write('a\n')
  await rename(join(at, 'w.log'), join(at, 'w.log-20260302'))
  write('b\n')
  expect(await contents(at)).toEqual({ 'w.log': 'b\n', 'w.log-20260302': 'a\n' })
})

test('what cannot be written is told once, and again after it went well', async () => {
  const at = await temporaryFolder()
  const path = join(at, 'w.log')
  const { write, problems } = open(path)
  await mkdir(path)
  write('a\n')
  write('b\n')
  expect(problems).toEqual([expect.stringMatching(/^the log file cannot be written: EISDIR/)])
  await rm(path, { recursive: true })
  write('c\n')
  expect(problems).toHaveLength(1)
  await rm(path)
  await mkdir(path)
  write('d\n')
  expect(problems).toHaveLength(2)
})

test('a full file that cannot be put aside goes on, and that is told once', async () => {
  const at = await temporaryFolder()
  const path = join(at, 'w.log')
  const { write, problems } = open(path, 4)
  // What stands where the oldest file would be removed cannot be.
  await mkdir(`${path}.2`)
  for (const line of ['a\n', 'b\n', 'c\n', 'd\n']) write(line)
  expect(await readFile(path, 'utf8')).toBe('a\nb\nc\nd\n')
  expect(problems).toEqual([expect.stringMatching(/^the full log file cannot be rotated, and grows: /)])
})

test('a folder that cannot be made fails nothing', async () => {
  const at = await temporaryFolder()
  await writeFile(join(at, 'no-folder'), '')
  await chmod(join(at, 'no-folder'), 0o600)
  const { write, problems } = open(join(at, 'no-folder/w.log'))
  expect(() => write('a\n')).not.toThrow()
  expect(problems).toHaveLength(1)
})

test('a process that was killed while it put the file aside keeps the others from it for ten seconds', async () => {
  const at = await temporaryFolder()
  const path = join(at, 'w.log')
  const { write } = open(path, 5)
  await writeFile(`${path}.rotating`, '')
  // By the clock of the test, which may be shifted.
  await utimes(`${path}.rotating`, Date.now() / 1_000, Date.now() / 1_000)
  write('aaa\n')
  write('bbb\n')
  expect(await contents(at)).toEqual({ 'w.log': 'aaa\nbbb\n', 'w.log.rotating': '' })
  await utimes(`${path}.rotating`, 1_000, 1_000)
  write('ccc\n')
  write('ddd\n')
  expect(await contents(at)).toEqual({ 'w.log': 'ddd\n', 'w.log.1': 'aaa\nbbb\nccc\n' })
})

test(
  'of two processes that share a file and end at once, no line is lost, torn or written twice',
  NEEDS_CLOCK_OF_FILES,
  async () => {
    const at = await temporaryFolder()
    const script = join(import.meta.dirname, 'log-writer-process.ts')
    const [lines, maxBytes] = [600, 500]
    const run = promisify(execFile)
    const said = await Promise.all(
      ['one', 'two'].map((name) =>
        run(process.execPath, [script, join(at, 'w.log'), name, String(lines), String(maxBytes)]),
      ),
    )
    expect(said.map(({ stderr }) => stderr)).toEqual(['', ''])
    const files = await contents(at)
    const rows = Object.values(files).flatMap((text) =>
      text
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line) as { job: string; row: number }])),
    )
    for (const name of ['one', 'two'])
      expect(rows.flatMap(({ job, row }) => (job === name ? [row] : [])).sort((a, b) => a - b)).toEqual(
        Array.from({ length: lines }, (_, row) => row + 1),
      )
    // They are about as many as it takes: neither puts aside what the other has just begun.
    const bytes = Object.values(files).reduce((sum, text) => sum + text.length, 0)
    expect(Object.keys(files).length).toBeLessThanOrEqual(Math.ceil(bytes / maxBytes) * 1.4)
  },
)
