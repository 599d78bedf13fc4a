/** What keeps an export from being read is said by its cause, in the log, in the summary, and afterwards. */
import { createWriteStream } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { ZipFile } from 'yazl'
import { ANN, GOOD, HEADER, openClinic } from './clinic.ts'
import { summaryOf } from './command-line.ts'

const JOB = 'exports: { from: ../inbox, match: "*.csv*", mapping: clinic }\naccounts: { register: never }\n'
const ROWS = `${HEADER}${ANN}`

/** Bytes of an archive. @param patch sets flags and method of its first member, in both of its headers */
async function zipped(folder: string, names: readonly string[], patch?: { flags?: number; method?: number }) {
  const file = join(folder, 'made.zip')
  const archive = new ZipFile()
  for (const name of names) archive.addBuffer(Buffer.from(ROWS), name)
  archive.end()
  await pipeline(archive.outputStream, createWriteStream(file))
  const bytes = await readFile(file)
  const headers = [0, bytes.indexOf('PK\x01\x02', 0, 'latin1') + 2]
  for (const at of headers) {
    if (patch?.flags !== undefined) bytes.writeUInt16LE(patch.flags, at + 6)
    if (patch?.method !== undefined) bytes.writeUInt16LE(patch.method, at + 8)
  }
  return bytes
}

test('members, methods and garbage reach the summary, each with what puts it right', async () => {
  const clinic = await openClinic({ job: JOB })
  const { folder } = clinic.workplace
  const cut = gzipSync(ROWS.repeat(500))
  const faults = [
    [
      'a.csv.zip',
      await zipped(folder, ['x.csv', '.DS_Store']),
      /holds 2 files/,
      /^Name the exports in the archive/,
    ],
    ['b.csv.zip', await zipped(folder, ['x.csv'], { method: 12 }), /method 12/, /deflate/],
    ['c.csv.zip', await zipped(folder, ['x.csv'], { flags: 1 }), /encrypted with zip/, /PGP/],
    [
      'd.csv.zip',
      (await zipped(folder, ['x.csv'])).subarray(0, 90),
      /central directory/,
      /^See that the file has arrived whole/,
    ],
    [
      'e.csv.gz',
      cut.subarray(0, cut.length - 20),
      /unexpected end of file/,
      /^See that the file has arrived whole/,
    ],
  ] as const
  for (const [name, bytes] of faults) await clinic.deliver(name, Buffer.from(bytes))
  const ended = await clinic.run()
  expect(ended.code).toBe(2)
  const { exports, run } = summaryOf(ended)
  expect(exports.map(({ name, error }) => [name, error])).toEqual(
    faults.map(([name]) => [name, 'export-unreadable']),
  )
  const shown = await clinic.workplace.waybill('show', run)
  const json = JSON.parse((await clinic.workplace.waybill('show', run, '--json')).out) as {
    exports: { detail: string; remedy: string }[]
  }
  for (const [at, [name, , found, remedy]] of faults.entries()) {
    const said = json.exports[at]
    expect(said).toMatchObject({
      detail: expect.stringMatching(found),
      remedy: expect.stringMatching(remedy),
    })
    const step = `Nothing of ${name} was sent (export-unreadable): ${said?.detail.replace(/\.$/, '')}. ${said?.remedy}`
    expect(shown.out).toContain(step)
    // The log said the same.
    expect(ended.err).toContain(said?.remedy)
  }
})

test('a file that is not there keeps the remedy of its code, and what names its place', async () => {
  const clinic = await openClinic({ job: JOB })
  await clinic.deliver('a.csv', ROWS)
  const ended = await clinic.run('--file', join(clinic.workplace.folder, 'gone.csv'))
  const { run } = summaryOf(ended)
  const { out } = await clinic.workplace.waybill('show', run)
  expect(out).toMatch(/gone\.csv was sent \(export-unreadable\): .*ENOENT.* Check that the file exists/)
})

test('what was met after a chunk was sent is kept, too; once the file is whole, nothing is left to do', async () => {
  const clinic = await openClinic({ job: JOB })
  const whole = gzipSync(ROWS)
  const file = await clinic.deliver('a.csv.gz', whole.subarray(0, whole.length - 4))
  const first = summaryOf(await clinic.run())
  expect(first.exports).toMatchObject([{ error: 'export-unreadable' }])
  await rm(file)
  await writeFile(file, whole)
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD.filter((one) => one.startsWith('ann')))
  const { out } = await clinic.workplace.waybill('show', first.run)
  expect(out).not.toContain('arrived whole')
})
