/** Files of the home and of the inbox that somebody else has opened, linked, filled or written to in secret. */
import { type ChildProcess, spawn } from 'node:child_process'
import { chmod, readFile, stat, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ANN, BEN, type Clinic, GOOD, HEADER, openClinic } from '../cli/clinic.ts'
import { createWorkplace, ended, PROJECT, summaryOf } from '../cli/command-line.ts'
import { startReferenceStore } from '../cli/reference-store.ts'
import { readRejects } from '../cli/run-outputs.ts'
import { PASS, startFaultProxy } from '../faults/fault-proxy.ts'

const ROWS = `${HEADER}${ANN}${BEN}`
const JOB = 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\n'

async function opened(): Promise<Clinic & { at(...path: string[]): string }> {
  const clinic = await openClinic({ job: JOB })
  return { ...clinic, at: (...path) => join(clinic.workplace.home, ...path) }
}

const modeOf = async (path: string): Promise<number> => (await stat(path)).mode & 0o777

describe('a home that was opened to others', () => {
  test.each(['666', '604', '602'])('a key of mode %s is refused: nothing is sent with it', async (mode) => {
    const clinic = await opened()
    await clinic.deliver('a.csv', ROWS)
    expect((await clinic.run('--limit', '1')).code).toBe(0)
    await chmod(clinic.at('key'), Number.parseInt(mode, 8))
    const refused = await clinic.run()
    expect(refused.code).toBe(2)
    expect(refused.err).toContain(`other users may read or write the key ${clinic.at('key')}`)
    expect(refused.err).toContain(`chmod 600 ${clinic.at('key')}`)
    await chmod(clinic.at('key'), 0o640)
    expect((await clinic.run()).code).toBe(0)
  })

  test('a ledger and a rejects file of mode 0666 are told by the doctor, and the ledger is closed by the next run', async () => {
    const clinic = await opened()
    await clinic.deliver('a.csv', `${ROWS}eve,2026-03-02,400,99,73.5,kg,fine\n`)
    const [{ rejects = '' } = {}] = summaryOf(await clinic.run()).exports
    for (const path of [clinic.at('ledger.sqlite'), rejects]) await chmod(path, 0o666)
    await symlink('/etc/passwd', clinic.at('spool.txt'))
    const doctor = await clinic.workplace.waybill('doctor')
    expect(doctor.out).toMatch(
      /warning +home +\d of its files and folders are open to other users\n +ledger.sqlite \(mode 0666\)\n/,
    )
    expect(doctor.out).toMatch(/^ +rejects.*a\.rejects\.csv \(mode 0666\)$/m)
    expect(doctor.out).toMatch(/warning +home +1 of its files and folders are links.*\n +spool.txt\n/)
    expect(await modeOf(clinic.at('ledger.sqlite'))).toBe(0o666)

    const next = await clinic.run()
    expect(next.err).toContain('was open to all users (0666); fixed to 0660')
    expect(await modeOf(clinic.at('ledger.sqlite'))).toBe(0o660)
  })

  test.each([
    ['.env', 'WAYBILL_LOG_LEVEL=warn\n', {}],
    ['token', 'a-token', { WAYBILL_ACCESS_TOKEN: '', WAYBILL_ACCESS_TOKEN_FILE: 'token' }],
  ])('a %s that everybody may write decides nothing', async (name, text, settings) => {
    const clinic = await openClinic({ job: JOB, environment: settings })
    await clinic.deliver('a.csv', ROWS)
    const path = join(clinic.workplace.folder, name)
    await writeFile(path, text)
    await chmod(path, 0o666)
    const refused = await clinic.run()
    expect(refused.code).toBe(2)
    expect(refused.err).toContain(`${path} may be written by every user of this machine`)
    expect((await clinic.workplace.waybill('doctor')).out).toContain('may be written by every user')
    expect(await clinic.stored()).toEqual([])
  })
})

test('an export that is written to in place while it is read, its time put back: noticed', async () => {
  const store = await startReferenceStore({ open: true })
  let path = ''
  // A time that can be put back to the nanosecond.
  const time = new Date('2026-03-03T04:00:00Z')
  const write = async (text: string): Promise<void> => {
    await writeFile(path, text)
    await utimes(path, time, time)
  }
  const proxy = await startFaultProxy(store.url, async () => {
    await write(ROWS.replace(',61,', ',99,'))
    return PASS
  })
  const clinic = await openClinic({ store, job: JOB, environment: { WAYBILL_GATEWAY_URL: proxy.url } })
  path = await clinic.deliver('a.csv', ROWS)
  await write(ROWS)
  const summary = summaryOf(await clinic.run())
  expect(summary.exports).toMatchObject([{ name: 'a.csv', error: 'export-changed' }])
  expect((await stat(path)).mtimeMs).toBe(time.getTime())
})

test('cells that begin like formulas are text in a rejects file, and come back as they were', async () => {
  const clinic = await openClinic({ job: JOB })
  const cells = ['=HYPERLINK(0)', '+49', '-5', '@x', '\ttab', "'-5", "'tis"]
  const rows = cells.map((cell, at) => `p${at},2026-03-02,400,99,-5,kg,${cell}\n`).join('')
  await clinic.deliver('=a.csv', `${HEADER}${rows}`)
  const [{ rejects = '' } = {}] = summaryOf(await clinic.run()).exports
  const lines = await readRejects(rejects)
  for (const line of lines) for (const cell of Object.values(line)) expect(cell).not.toMatch(/^[=+\-@\t\r]/)
  expect(new Set(lines.map((line) => line['remark']))).toEqual(
    new Set(["'=HYPERLINK(0)", "'+49", "'-5", "'@x", "'\ttab", "''-5", "'tis"]),
  )

  // Corrected in the pulse alone: what was rejected for its weight of -5 is rejected for it again.
  const corrected = join(clinic.workplace.folder, 'corrected.csv')
  await writeFile(corrected, (await readFile(rejects, 'utf8')).replaceAll('400,99', '64,5.4'))
  const [{ rejects: again = '' } = {}] = summaryOf(await clinic.run('--file', corrected)).exports
  const left = await readRejects(again)
  expect(left.map((line) => [line['_rule'], line['weight'], line['_export']])).toEqual(
    cells.map(() => ['body-weight', "'-5", "'=a.csv"]),
  )
  expect(left.map((line) => line['remark'])).toEqual([
    "'=HYPERLINK(0)",
    "'+49",
    "'-5",
    "'@x",
    "'\ttab",
    "''-5",
    "'tis",
  ])
  const pulses = (await clinic.stored()).filter((one) => one.endsWith('heart-rate 64'))
  expect(pulses).toHaveLength(cells.length)
})

/** Ends it after so long, and says so with the code null. */
async function endedWithin(ms: number, child: ChildProcess): ReturnType<typeof ended> {
  const timer = setTimeout(() => child.kill('SIGKILL'), ms)
  return ended(child).finally(() => clearTimeout(timer))
}

test('a home where none can be: said at once', async () => {
  const home = '/proc/x/home'
  const { start, job } = await createWorkplace({ WAYBILL_HOME: home })
  await job('j', JOB.replace('clinic', 'flat-screening'))
  const { code, err } = await endedWithin(120_000, start('run', 'j'))
  expect({ code, err }).toEqual({
    code: 2,
    err: expect.stringContaining(`the home ${home} cannot be made`),
  })
})

test('no more files can be opened: told by its name, and the run goes on when they can', async () => {
  const clinic = await openClinic({ job: JOB })
  await clinic.deliver('a.csv', ROWS)
  const { folder, environment } = clinic.workplace
  const said: string[] = []
  // How many files a process needs differs between machines: on the way up there are limits with which it can begin, and not read.
  for (let most = 24, code: number | null = 1; code !== 0 && most < 60; most += 1) {
    const command = `ulimit -n ${most}; exec '${process.execPath}' '${join(PROJECT, 'bin/waybill.js')}' run clinic --json`
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: folder,
      env: { PATH: process.env['PATH'], ...environment },
    })
    const run = await endedWithin(120_000, child)
    code = run.code
    said.push(run.out + run.err)
  }
  expect(said.at(-1)).toContain('"state":"finished"')
  expect(said.filter((text) => text.includes('error files-exhausted'))).not.toEqual([])
  expect(said.filter((text) => /error unexpected: .*(EMFILE|too many open files)/.test(text))).toEqual([])
  expect((await clinic.run()).code).toBe(0)
  expect(await clinic.stored()).toEqual(GOOD)
})
