/** Another user of the machine writes to what Waybill obeys: settings, jobs, mappings, commands, the home, and the folders that lead to them. */
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readOrMakeKey } from '../../src/runs/which-installation.ts'
import { assertObeyableCommand, doubtsOf } from '../../src/system/obeyed-files.ts'
import { ANN, type Clinic, HEADER, openClinic } from '../cli/clinic.ts'
import { NEEDS_MOUNTS } from '../faults/mounted-disk.ts'
import { NEEDS_ROOT } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'

/** Users whom no machine has. */
const ME = 64_001
const OTHER = 64_002

/** What the function says when this user asks it, who is in these groups. */
function asUser<Result>(uid: number, groups: readonly number[], ask: () => Result): Result {
  const { setegid, seteuid, setgroups, getgroups } = process
  if (setegid === undefined || seteuid === undefined || setgroups === undefined || getgroups === undefined)
    throw new Error('a system without users')
  const before = getgroups()
  setgroups([...groups])
  setegid(uid)
  seteuid(uid)
  try {
    return ask()
  } finally {
    seteuid(0)
    setegid(0)
    setgroups(before)
  }
}

interface Made {
  readonly path: string
  readonly owner?: number
  readonly group?: number
  readonly mode: number
}

function make({ path, owner = ME, group = owner, mode }: Made): void {
  if (/\.(yaml|log)$/.test(path)) writeFileSync(path, 'job: j\n')
  else if (!existsSync(path)) mkdirSync(path)
  chownSync(path, owner, group)
  chmodSync(path, mode)
}

/** A folder that every user may enter and root owns. */
async function openFolder(): Promise<string> {
  const folder = await temporaryFolder()
  chmodSync(folder, 0o755)
  return folder
}

const verdict = (path: string, groups: readonly number[] = [ME]): string => {
  const found = asUser(ME, groups, () => doubtsOf(path))
  if (found.some(({ remedy }) => remedy !== undefined)) return 'refused'
  return found.length > 0 ? 'warned' : 'obeyed'
}

describe('who may write', NEEDS_ROOT, () => {
  test.each<[string, number, number, number, string]>([
    ['of this user', ME, ME, 0o600, 'obeyed'],
    ['of root', 0, 0, 0o644, 'obeyed'],
    ['of root, for the group of this user to read', 0, ME, 0o640, 'obeyed'],
    ["writable by this user's own group", ME, ME, 0o664, 'obeyed'],
    ["writable by root's group", ME, 0, 0o664, 'obeyed'],
    ['of another user', OTHER, OTHER, 0o600, 'refused'],
    ['of another user, readable', OTHER, ME, 0o644, 'refused'],
    ['writable by all', ME, ME, 0o606, 'refused'],
    ["root's, writable by all", 0, 0, 0o666, 'refused'],
    ["writable by another's group", ME, OTHER, 0o660, 'refused'],
    ["root's, writable by another's group", 0, OTHER, 0o664, 'refused'],
  ])('a file %s', async (_, owner, group, mode, expected) => {
    const path = join(await openFolder(), 'j.yaml')
    make({ path, owner, group, mode })
    expect(verdict(path)).toBe(expected)
  })

  test.each<[string, number, number, number, string]>([
    ['of this user', ME, ME, 0o755, 'obeyed'],
    ['of another user', OTHER, OTHER, 0o755, 'refused'],
    ['writable by all', ME, ME, 0o777, 'refused'],
    ["root's, writable by a group", 0, OTHER, 0o775, 'refused'],
    ["root's and sticky, writable by all", 0, 0, 0o1777, 'warned'],
    ["this user's and sticky, writable by all", ME, ME, 0o1777, 'warned'],
    // Whoever owns a sticky folder may still replace what is in it.
    ["another's and sticky", OTHER, OTHER, 0o1777, 'refused'],
  ])('a file in a folder %s, and one in a folder below', async (_, owner, group, mode, expected) => {
    const folder = join(await openFolder(), 'folder')
    make({ path: folder, owner, group, mode })
    make({ path: join(folder, 'j.yaml'), mode: 0o600 })
    make({ path: join(folder, 'jobs'), mode: 0o700 })
    make({ path: join(folder, 'jobs', 'j.yaml'), mode: 0o600 })
    expect(verdict(join(folder, 'j.yaml'))).toBe(expected)
    // What lies in a folder of this user nobody puts another in the place of, sticky as the one above it is.
    expect(verdict(join(folder, 'jobs', 'j.yaml'))).toBe(expected === 'warned' ? 'obeyed' : expected)
  })

  test("a group in which another user is, is nobody's own", async () => {
    const path = join(await openFolder(), 'j.yaml')
    make({ path, group: 64_009, mode: 0o660 })
    // Supplementary, and of no volume.
    expect(verdict(path, [ME, 64_009])).toBe('refused')
  })

  test('what a link leads to, the folder it lies in, and who made it', async () => {
    const folder = await openFolder()
    make({ path: join(folder, 'mine'), mode: 0o755 })
    make({ path: join(folder, 'others'), owner: OTHER, mode: 0o755 })
    make({ path: join(folder, 'mine', 'j.yaml'), mode: 0o600 })
    make({ path: join(folder, 'others', 'j.yaml'), mode: 0o600 })
    const link = (to: string, at: string, owner = ME): string => {
      const path = join(folder, at)
      symlinkSync(to, path)
      lchownSync(path, owner, owner)
      return path
    }
    expect(verdict(link('j.yaml', 'mine/good.yaml'))).toBe('obeyed')
    expect(verdict(link('../others/j.yaml', 'mine/bad.yaml'))).toBe('refused')
    expect(verdict(link('../mine/j.yaml', 'others/good.yaml'))).toBe('refused')
    expect(verdict(link('mine/j.yaml', 'planted.yaml', OTHER))).toBe('refused')
    expect(verdict(join(link('others', 'folder'), 'j.yaml'))).toBe('refused')
    expect(verdict(link('loop', 'loop'))).toBe('obeyed')
    // The system goes up from the folder that the first link leads to.
    mkdirSync(join(folder, 'others', 'release'))
    chownSync(join(folder, 'others', 'release'), ME, ME)
    chownSync(join(folder, 'others', 'j.yaml'), OTHER, OTHER)
    link('others/release', 'current')
    link('../j.yaml', 'others/release/up.yaml')
    make({ path: join(folder, 'others'), mode: 0o755 })
    expect(verdict(join(folder, 'current', 'up.yaml'))).toBe('refused')
  })

  test('links that lead on to each other many times over are followed once', async () => {
    const folder = await openFolder()
    symlinkSync('.', join(folder, 'a'))
    expect(verdict(join(folder, ...Array<string>(39).fill('a')))).toBe('obeyed')
  })

  test('jobs that Kubernetes has mounted from a ConfigMap pass, with a warning of their sticky folder', async () => {
    const jobs = join(await openFolder(), 'jobs')
    make({ path: jobs, owner: 0, mode: 0o1777 })
    make({ path: join(jobs, '..2026_03_02'), owner: 0, mode: 0o755 })
    make({ path: join(jobs, '..2026_03_02', 'j.yaml'), owner: 0, mode: 0o644 })
    symlinkSync('..2026_03_02', join(jobs, '..data'))
    symlinkSync('..data/j.yaml', join(jobs, 'j.yaml'))
    expect(verdict(join(jobs, 'j.yaml'))).toBe('warned')
    expect(verdict(jobs)).toBe('warned')
  })

  test(
    'a volume with fsGroup passes with a warning; a folder like it that is none does not',
    NEEDS_MOUNTS,
    async () => {
      const folder = await openFolder()
      const volume = join(folder, 'volume')
      const made = [volume, join(folder, 'shared')].map((path) => {
        mkdirSync(path)
        return { path, owner: 0, group: 64_009, mode: 0o2775 }
      })
      execFileSync('mount', ['-t', 'tmpfs', 'none', volume])
      onTestFinished(() => void spawnSync('umount', [volume]))
      for (const { path, ...rights } of made) {
        make({ path, ...rights })
        // As a volume is when it is mounted once more: all of it may be written by the group.
        make({ path: join(path, 'home'), group: 64_009, mode: 0o2770 })
        make({ path: join(path, 'home', 'j.yaml'), group: 64_009, mode: 0o660 })
      }
      expect(verdict(join(folder, 'shared', 'home', 'j.yaml'), [ME, 64_009])).toBe('refused')
      expect(verdict(join(volume, 'home', 'j.yaml'), [ME, 64_009])).toBe('warned')
      expect(verdict(join(volume, 'home', 'j.yaml'), [ME])).toBe('refused')
    },
  )

  test.each([
    ['evil/token', 'by its path'],
    ["sh -c 'exec evil/token --for x'", 'within quotes'],
    ['/bin/sh evil/token', 'as the script of a shell'],
    ['echo x | evil/token', 'behind a pipe'],
    ['T=$(evil/token); echo $T', 'in a substitution'],
    ['"evil/token"', 'in quotes'],
    ['cat < evil/token', 'as what is read'],
    ['token --for waybill', 'on the PATH'],
    ['$HOME/token', 'in the folder of the user'],
    ['~/token', 'in the folder of the user'],
    ['env --split-string=evil/token', 'behind an equals sign'],
    ['"$HOME"/token', 'half in quotes'],
    ['"$TOOLS/token"', 'in the folder of a variable'],
    ['sh -c \'T="$(evil/token)"; echo $T\'', 'in a substitution in quotes in quotes'],
    ['with\\ blank/token', 'behind a blank'],
    ['cd evil && ./token', 'in the folder that it goes to'],
    ['PATH=/usr/bin:$TOOLS other', 'on a PATH of its own'],
  ])('a command that names the file of another: %s (%s)', async (command) => {
    const folder = await openFolder()
    const evil = join(folder, 'evil')
    make({ path: evil, mode: 0o755 })
    writeFileSync(join(evil, 'token'), '#!/bin/sh\necho t\n')
    chmodSync(join(evil, 'token'), 0o755)
    symlinkSync('evil', join(folder, 'with blank'))
    lchownSync(join(folder, 'with blank'), ME, ME)
    symlinkSync('token', join(evil, 'other'))
    lchownSync(join(evil, 'other'), ME, ME)
    const environment = { PATH: `/usr/bin:/bin:${evil}`, HOME: evil, TOOLS: evil }
    const look = (): void => assertObeyableCommand(command, folder, environment)
    chownSync(join(evil, 'token'), ME, ME)
    asUser(ME, [ME], look)
    chownSync(join(evil, 'token'), OTHER, OTHER)
    expect(() => asUser(ME, [ME], look)).toThrow(expect.objectContaining({ code: 'file-untrusted' }))
    chownSync(join(evil, 'token'), ME, ME)
    chmodSync(evil, 0o777)
    expect(() => asUser(ME, [ME], look)).toThrow(expect.objectContaining({ code: 'file-untrusted' }))
  })

  test('a folder of the PATH in front of that of the command, in which another may put his own', async () => {
    const folder = await openFolder()
    make({ path: join(folder, 'first'), mode: 0o777 })
    const look = (PATH: string) => () =>
      asUser(ME, [ME], () => assertObeyableCommand('env', folder, { PATH }))
    expect(look(`${folder}/first:/usr/bin`)).toThrow(expect.objectContaining({ code: 'file-untrusted' }))
    look(`/usr/bin:${folder}/first`)()
  })

  test('a command may write its complaints to the log of another, or to nowhere', async () => {
    const folder = await openFolder()
    make({ path: join(folder, 'its.log'), owner: OTHER, mode: 0o666 })
    asUser(ME, [ME], () =>
      assertObeyableCommand('echo t 2>> its.log >/dev/null 2>&1', folder, { PATH: process.env['PATH'] }),
    )
  })
})

/** A job that is carried out as root, whom any user would like to be. */
async function opened(
  job = 'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\n',
): Promise<Clinic> {
  const clinic = await openClinic({ job: `${job}accounts: { register: never }\n` })
  await clinic.deliver('a.csv', `${HEADER}${ANN}`)
  return clinic
}

describe('the file of another user', NEEDS_ROOT, () => {
  test('a .env runs no command', async () => {
    const clinic = await opened()
    const { folder } = clinic.workplace
    const path = join(folder, '.env')
    writeFileSync(path, `WAYBILL_ACCESS_TOKEN_COMMAND=touch ${join(folder, 'taken')}; echo t\n`)
    chownSync(path, OTHER, OTHER)
    chmodSync(path, 0o644)
    for (const args of [['run', 'clinic'], ['doctor']])
      expect(
        (await clinic.workplace.waybill(...args)).out + (await clinic.workplace.waybill(...args)).err,
      ).toContain(`${path} belongs to user ${OTHER}`)
    expect((await clinic.run()).code).toBe(2)
    expect(existsSync(join(folder, 'taken'))).toBe(false)
    expect(await clinic.stored()).toEqual([])
  })

  test.each([
    'jobs/clinic.yaml',
    'mappings/clinic.yaml',
    'mappings/catalog/biometrics.yaml',
    'jobs',
    'mappings',
    'home',
  ])('%s: nothing is run, nobody is told of it by a command that it names', async (name) => {
    const clinic = await opened(
      'exports: { from: ../inbox, match: "*.csv", mapping: clinic }\nnotify: [{ command: "touch taken", on: failure }]\n',
    )
    const { folder } = clinic.workplace
    const path = join(folder, name)
    mkdirSync(name === 'home' ? path : join(folder, 'x'))
    chownSync(path, OTHER, OTHER)
    const refused = await clinic.run()
    expect(refused).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${path} belongs to user ${OTHER}`),
    })
    expect(refused.err).toMatch(/runuser -u USER -- waybill/)
    if (name.startsWith('jobs')) expect(existsSync(join(folder, 'jobs', 'taken'))).toBe(false)
    expect(await clinic.stored()).toEqual([])
    const doctor = await clinic.workplace.waybill('doctor')
    expect(doctor).toMatchObject({
      code: 2,
      out: expect.stringContaining(`${path} belongs to user ${OTHER}`),
    })
    chownSync(path, 0, 0)
    expect((await clinic.run()).code).toBe(0)
  })

  test('a key that another user has put into the home first is not used', async () => {
    const file = join(await openFolder(), 'key')
    writeFileSync(file, 'f'.repeat(64), { mode: 0o600 })
    chownSync(file, OTHER, OTHER)
    expect(() => readOrMakeKey(file, 'e'.repeat(64), false)).toThrow(
      expect.objectContaining({ code: 'file-untrusted' }),
    )
  })

  test('the program that prints a token: not run, and the run ends as one with a wrong setting does', async () => {
    const clinic = await openClinic({
      environment: { WAYBILL_ACCESS_TOKEN: '', WAYBILL_ACCESS_TOKEN_COMMAND: './token' },
    })
    await clinic.deliver('a.csv', `${HEADER}${ANN}`)
    const path = join(clinic.workplace.folder, 'token')
    writeFileSync(path, '#!/bin/sh\ntouch taken\necho test-token\n', { mode: 0o755 })
    chmodSync(path, 0o777)
    const refused = await clinic.run()
    expect(refused).toMatchObject({ code: 2, out: expect.stringContaining(`chmod o-w ${path}`) })
    expect(existsSync(join(dirname(path), 'taken'))).toBe(false)
    rmSync(join(dirname(path), 'taken'), { force: true })
    chmodSync(path, 0o755)
    expect((await clinic.run()).code).toBe(0)
  })
})
