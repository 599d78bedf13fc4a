/** Whatever Waybill writes is a new file of its own: another user's link or file in its place is not written into, and nobody else reads it. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  globSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { appendOwn, writeOwn } from '../../src/system/own-files.ts'
import { createLogFile } from '../../src/telemetry/logger.ts'
import { ANN, BEN, type Clinic, HEADER, openClinic } from '../cli/clinic.ts'
import { PROJECT } from '../cli/command-line.ts'
import { NEEDS_MOUNTS } from '../faults/mounted-disk.ts'
import { temporaryFolder } from '../temporary-folder.ts'

const PRECIOUS = 'as it was'
const CASES = `cases:
  - { name: one, row: { id: ann, day: 2026-03-02, pulse: 61, a1c: 5.1, weight: 70.5, unit: kg, remark: fine } }
`

let clinic: Clinic
let at: (...path: string[]) => string
let waybill: (...args: string[]) => ReturnType<Clinic['run']>
beforeEach(async () => {
  clinic = await openClinic({
    job: 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\naccounts: { register: never }\n',
  })
  at = (...path) => join(clinic.workplace.folder, ...path)
  waybill = (...args) => clinic.workplace.waybill(...args)
  await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
  writeFileSync(at('mappings', 'clinic.cases.yaml'), CASES)
  chmodSync(at('mappings', 'clinic.cases.yaml'), 0o644)
  mkdirSync(at('theirs'))
  writeFileSync(at('theirs', 'precious'), PRECIOUS)
})

/** Each command with the file that it writes. */
const WRITERS: readonly (readonly [name: string, file: string, ...args: string[]])[] = [
  ['a page of a preview', 'page.html', 'mapping', 'preview', 'clinic', 'inbox/a.csv', '--html', 'page.html'],
  ['a report', 'report.html', 'report', '--out', 'report.html'],
  ['a backup', 'copy.sqlite', 'backup', 'copy.sqlite'],
  ['ids of accounts', 'ids.csv', 'accounts', 'export', 'clinic', '--out', 'ids.csv'],
  ['a drafted mapping', 'mappings/draft.yaml', 'mapping', 'init', 'inbox/a.csv', '--name', 'draft'],
  ['its cases', 'mappings/draft.cases.yaml', 'mapping', 'init', 'inbox/a.csv', '--name', 'draft'],
]

describe.each(WRITERS)('%s', (_, file, ...args) => {
  test.each(['precious', 'not-there'])('is not written through a link to a file (%s)', async (target) => {
    expect((await clinic.run()).code).toBe(0)
    symlinkSync(at('theirs', target), at(file))
    // Its name while it is written can be foreseen.
    for (const part of [`${file}.part`, `${file}.${process.pid}.part`])
      symlinkSync(at('theirs', target), at(part))
    const refused = await waybill(...args)
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringMatching(/is a link|(is there|exists) already/),
    })
    expect(readdirSync(at('theirs'))).toEqual(['precious'])
    expect(readFileSync(at('theirs', 'precious'), 'utf8')).toBe(PRECIOUS)
  })

  test('is new, whole, and for this user alone', async () => {
    expect((await clinic.run()).code).toBe(0)
    for (const part of [`${file}.part`, `${file}.${process.pid}.part`])
      symlinkSync(at('theirs', 'precious'), at(part))
    expect([0, 1]).toContain((await waybill(...args)).code)
    expect(lstatSync(at(file))).toMatchObject({ mode: 0o100600 })
    expect(readFileSync(at('theirs', 'precious'), 'utf8')).toBe(PRECIOUS)
  })
})

test('a page of health data in the place of a file that others had open: they have the old one', async () => {
  writeFileSync(at('page.html'), PRECIOUS)
  chmodSync(at('page.html'), 0o666)
  const before = statSync(at('page.html')).ino
  await waybill('mapping', 'preview', 'clinic', 'inbox/a.csv', '--html', 'page.html')
  expect(statSync(at('page.html'))).toMatchObject({
    mode: 0o100600,
    ino: expect.not.toSatisfy((ino) => ino === before),
  })
})

test('cases are written back with the mode that they had, and through no link', async () => {
  const cases = at('mappings', 'clinic.cases.yaml')
  expect((await waybill('mapping', 'test', 'clinic', '--update')).out).toContain('written; review it')
  expect(readFileSync(cases, 'utf8')).toContain('heart-rate')
  expect(statSync(cases).mode & 0o777).toBe(0o644)
  writeFileSync(at('theirs', 'cases.yaml'), CASES)
  rmSync(cases)
  symlinkSync(at('theirs', 'cases.yaml'), cases)
  expect((await waybill('mapping', 'test', 'clinic', '--update')).err).toContain('is a link')
  expect(readFileSync(at('theirs', 'cases.yaml'), 'utf8')).toBe(CASES)
})

test('the metrics of a run may be read by all, and are not written through a link', async () => {
  const file = at('run.prom')
  clinic.workplace.environment['WAYBILL_METRICS_FILE'] = file
  expect((await clinic.run()).code).toBe(0)
  expect(statSync(file).mode & 0o777).toBe(0o644)
  rmSync(file)
  symlinkSync(at('theirs', 'precious'), file)
  await clinic.run()
  expect(readFileSync(at('theirs', 'precious'), 'utf8')).toBe(PRECIOUS)
})

describe('the log file', () => {
  test("another's link gets no line, and run and doctor say so", async () => {
    clinic.workplace.environment['WAYBILL_LOG_FILE'] = at('waybill.log')
    symlinkSync(at('theirs', 'precious'), at('waybill.log'))
    const run = await clinic.run()
    expect(run.code).toBe(0)
    expect(run.err).toContain('the log file cannot be written')
    expect(run.err).toContain('is a link')
    expect((await waybill('doctor')).out).toContain('waybill.log cannot be written: it is a link')
    expect(readFileSync(at('theirs', 'precious'), 'utf8')).toBe(PRECIOUS)
  })

  test('is made with mode 0600, appended to, and may be a device, also through a link of root', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'log', 'waybill.log')
    const told: string[] = []
    const write = createLogFile({ path: file, maxBytes: 1e6, files: 2 }, Date.now, (problem) =>
      told.push(problem),
    )
    write('a\n')
    write('b\n')
    expect(readFileSync(file, 'utf8')).toBe('a\nb\n')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    appendOwn('/dev/null', 'x')
    if (process.getuid?.() !== 0) return
    symlinkSync('/dev/null', join(folder, 'null'))
    appendOwn(join(folder, 'null'), 'x')
    chownSync(file, 64_002, 64_002)
    write('c\n')
    expect(told).toEqual([expect.stringContaining('belongs to user 64002')])
    expect(readFileSync(file, 'utf8')).toBe('a\nb\n')
  })
})

test('a page that a full disk has no room for leaves no part of it', NEEDS_MOUNTS, async () => {
  const folder = await temporaryFolder()
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'none', folder])
  onTestFinished(() => void spawnSync('umount', [folder]))
  expect(() => writeOwn(join(folder, 'page.html'), 'x'.repeat(1e6))).toThrow(
    expect.objectContaining({ code: 'usage-wrong' }),
  )
  expect(readdirSync(folder)).toEqual([])
})

test('a data file of the built-in gateway is not opened through a link', async () => {
  symlinkSync(at('theirs', 'new.sqlite'), at('gateway.sqlite'))
  const refused = await waybill('gateway', '--port', '0', '--data', 'gateway.sqlite')
  expect(refused).toMatchObject({ code: 2, err: expect.stringContaining('gateway.sqlite is a link') })
  expect(readdirSync(at('theirs'))).toEqual(['precious'])
})

/** What makes, fills or opens files to write; folders are made by `makeFolder`. */
const WRITING =
  /^(writeFile|appendFile|copyFile|cp|link|symlink|truncate|mkdir|createWriteStream|mkdtempDisposable)(Sync)?$/
/** Each with why it need not go through own-files.ts. */
const OTHERWISE: Readonly<Record<string, readonly string[]>> = {
  // Moves a vendor's export into the archive, under a name that is not taken.
  'src/extract/sources/folder.ts': ['copyFile', 'link'],
}

test('no other file of the source writes files by itself', () => {
  const files = globSync(['src/**/*.ts', 'packages/*/src/**/*.ts'], { cwd: PROJECT })
  const found = files.flatMap((file) => {
    if (file === 'src/system/own-files.ts') return []
    const text = readFileSync(join(PROJECT, file), 'utf8')
    const imported = [
      ...text.matchAll(/import (?:type )?(\{[^}]*\}|[^;'"]*?) from 'node:fs(?:\/promises)?'/g),
    ]
    const names = imported.flatMap(([, list = '']) => list.match(/\w+/g) ?? [])
    const writing = names.filter((name) => WRITING.test(name) && OTHERWISE[file]?.includes(name) !== true)
    // By another way than a list of names it could be any.
    const whole = imported.filter(([, list = '']) => !list.startsWith('{'))
    const opening = names.some((name) => /^open(Sync)?$/.test(name))
      ? (text.match(/(?<![.\w])open(?:Sync)?\((?:[^()]|\([^()]*\))*\)/g) ?? []).filter((call) =>
          /'(r\+|[wax]x?\+?)'|O_(WRONLY|RDWR|CREAT|APPEND|TRUNC)/.test(call),
        )
      : []
    return [...writing, ...opening, ...whole.map(([statement]) => statement)].map((one) => `${file}: ${one}`)
  })
  expect(found).toEqual([])
})
