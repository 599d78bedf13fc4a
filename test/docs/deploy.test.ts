/** What docs/deploy.md and its examples show is what systemd, cron and Kubernetes take, and what Waybill does. Tools that a machine lacks are skipped visibly. */
import { execFile, execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseEnv, promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { firesAfter } from '../../src/schedule/fires.ts'
import { VARIABLES } from '../../src/system/settings.ts'
import { ANN, BEN, GOOD, HEADER, openClinic } from '../cli/clinic.ts'
import { createWorkplace } from '../cli/command-line.ts'
import { needing, needsProgram } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { blocks, PROJECT, page, sections, tableRows } from './pages.ts'

const text = page('docs/deploy.md')
const settings = blocks(text, 'sh').find((block) => block.startsWith('# /etc/waybill/settings')) ?? ''
const [crontab = ''] = blocks(text, 'text')
const UNITS = new Map(
  ['waybill.service', 'waybill-nightly.timer', 'waybill-nightly.service'].map((name) => [
    name,
    page(`examples/systemd/${name}`),
  ]),
)
const cronJob: unknown = parse(page('examples/kubernetes/cronjob.yaml'))
/** What of it is compared with other parts of the page; the rest is for Kubernetes' own definition. */
const CronJob = z.object({
  spec: z.object({
    jobTemplate: z.object({
      spec: z.object({
        podFailurePolicy: z.object({
          rules: z.array(
            z.object({
              onExitCodes: z.object({ containerName: z.string(), values: z.array(z.int()) }).optional(),
            }),
          ),
        }),
        template: z.object({
          spec: z.object({
            restartPolicy: z.string(),
            containers: z.array(
              z.object({
                name: z.string(),
                env: z.array(z.object({ name: z.string(), value: z.string() })),
                volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
              }),
            ),
            volumes: z.array(z.object({ name: z.string() })),
          }),
        }),
      }),
    }),
  }),
})
const TYPES = join(PROJECT, 'node_modules/kubernetes-types')
const NEEDS_TYPES = needing(existsSync(TYPES), 'kubernetes-types, installed')
/** `tsc` is a program of its own. */
const COMPILER = join(PROJECT, 'node_modules/.bin/tsc')

const run = promisify(execFile)

/** Values of a key of a unit, in their order. */
const valuesOf = (unit: string, key: string): string[] =>
  [...unit.matchAll(new RegExp(`^${key}=(.*)$`, 'gm'))].map(([, value = '']) => value)
const numbersOf = (words: string): number[] => (words.match(/\d+/g) ?? []).map(Number)

describe('the settings file', () => {
  const read = parseEnv(settings)

  it('means the same to a shell, and is written so that systemd reads it alike', async () => {
    const folder = await temporaryFolder()
    const file = join(folder, 'settings')
    await writeFile(file, settings)
    const script = 'set -a && . "$0" && exec /usr/bin/env'
    const said = execFileSync('/bin/sh', ['-c', script, file], { env: {}, encoding: 'utf8' })
    expect(said.split('\n')).toEqual(
      expect.arrayContaining(Object.entries(read).map(([name, value]) => `${name}=${value}`)),
    )
    for (const line of settings.trim().split('\n').slice(1))
      expect(line).toMatch(/^[A-Z_]+=([\w./:@,+=-]+|'[^']+')$/)
  })

  it('names settings that there are, one home, and where a Node is', () => {
    const { PATH, ...own } = read
    expect(VARIABLES).toEqual(expect.arrayContaining(Object.keys(own)))
    // Where npm of Debian and of Node's own packages puts commands, and where systemd looks for them.
    expect(PATH?.split(':')).toEqual(['/usr/local/bin', '/usr/bin', '/bin'])
    for (const [name, unit] of UNITS) {
      if (!name.endsWith('.service')) continue
      expect(valuesOf(unit, 'EnvironmentFile')).toEqual([settings.split(/[ ,]/)[1]])
      expect(own['WAYBILL_HOME']).toBe(`/var/lib/${valuesOf(unit, 'StateDirectory')}`)
      expect(unit).not.toContain('WAYBILL_HOME')
    }
  })
})

/** Typed by hand on an empty machine; why no test types them. */
const NOT_TYPED: Readonly<Record<string, string>> = {
  'apt-get': 'root, and a registry',
  npm: 'a registry; test/gateway/package.test.ts packs and installs without one',
  useradd: 'root',
  install: 'root and the user waybill',
  runuser: 'root and the user waybill',
  systemctl: 'a system that systemd has started',
}

describe('the commands of the page', () => {
  const typed = blocks(text, 'sh')
    .filter((block) => block !== settings)
    .flatMap((block) => block.trim().split('\n'))
  const first = (line: string): string => line.replace(/^\w+=\S+ /, '').split(' ')[0] ?? ''

  it('are tested here, or left out with a reason', () => {
    expect(new Set(typed.map(first))).toEqual(new Set([...Object.keys(NOT_TYPED), 'cd', 'waybill']))
  })

  it('make the places that settings and units name, for the user whom the units name', () => {
    const { WAYBILL_HOME = '', WAYBILL_API_KEY_FILE = '' } = parseEnv(settings)
    const made = typed
      .filter((line) => first(line) === 'install')
      .map((line) => [line.split(' ').at(-1), / -m (\d+)/.exec(line)?.[1]])
    expect(made).toEqual([
      [valuesOf(UNITS.get('waybill.service') ?? '', 'WorkingDirectory')[0], '0750'],
      [WAYBILL_HOME, '0700'],
      [dirname(WAYBILL_API_KEY_FILE), '0750'],
      ['/etc/waybill/settings', '0640'],
      [WAYBILL_API_KEY_FILE, '0640'],
    ])
    const [user] = valuesOf(UNITS.get('waybill.service') ?? '', 'User')
    expect(
      typed
        .find((line) => first(line) === 'useradd')
        ?.split(' ')
        .at(-1),
    ).toBe(user)
  })

  it('count and send the sample as waybill init has made it', async () => {
    const { folder, environment } = await createWorkplace()
    const env = { PATH: process.env['PATH'], WAYBILL_HOME: environment['WAYBILL_HOME'] }
    const launcher = join(PROJECT, 'bin/waybill.js')
    const codes: (string | number)[][] = []
    for (const line of typed.map((one) => one.replace(/\s+#.*/, ''))) {
      if (first(line) !== 'waybill') continue
      // A few rows of it are enough.
      const few = line.includes(' run ') ? ' --limit 20' : ''
      const script = `${line.replace(/\bwaybill\b/, `"${launcher}"`)}${few}`
      const { status, stderr } = spawnSync('/bin/sh', ['-c', script], { cwd: folder, env, encoding: 'utf8' })
      expect(stderr).not.toMatch(/^error/m)
      codes.push([line.replace(/.*\bwaybill (\w+).*/, '$1'), status ?? -1])
    }
    expect(codes.map(([name]) => name)).toEqual(['init', 'run', 'run', 'doctor'])
    expect(codes.slice(0, 3).every(([, code]) => code === 0 || code === 1)).toBe(true)
  })
})

describe('exit codes', () => {
  const documented = tableRows(sections(page('docs/cli.md'), 2).get('Exit codes') ?? '').map(([code]) =>
    Number(code),
  )
  const told =
    /^- \*\*Exit codes\*\*.*: (\S+) is well; (.+) want a person.*; (.+) go on .*; (\S+) wants nothing/m.exec(
      text,
    )
  const [well = [], person = [], again = [], nothing = []] = (told ?? []).slice(1).map(numbersOf)
  const nightly = UNITS.get('waybill-nightly.service') ?? ''

  it('are those of docs/cli.md, each once', () => {
    expect([...well, ...person, ...again, ...nothing].sort((a, b) => a - b)).toEqual(documented)
  })

  it('make systemd try again what goes on by itself, and nothing else', () => {
    expect(valuesOf(nightly, 'SuccessExitStatus').flatMap(numbersOf)).toEqual(nothing)
    expect(valuesOf(nightly, 'RestartPreventExitStatus').flatMap(numbersOf)).toEqual(person)
    expect(valuesOf(nightly, 'Restart')).toEqual(['on-failure'])
  })

  it('make Kubernetes fail at once what another try does not change, and not what a pod that was killed holds for a minute yet', () => {
    const values = CronJob.parse(cronJob).spec.jobTemplate.spec.podFailurePolicy.rules.flatMap(
      ({ onExitCodes }) => onExitCodes?.values ?? [],
    )
    // Kubernetes demands their order.
    expect(values).toEqual(person)
  })
})

/** On which the units, and what systemd adds to every unit, depend. */
const TARGETS = [
  'sysinit',
  'basic',
  'shutdown',
  'network-online',
  'timers',
  'multi-user',
  'time-sync',
  'time-set',
]

describe('systemd', needsProgram('systemd-analyze'), () => {
  it('finds nothing wrong with the units, as they stand but for where Waybill lies', async () => {
    const folder = await temporaryFolder()
    const program = join(folder, 'waybill.js')
    await writeFile(program, '#!/bin/sh\n')
    await chmod(program, 0o755)
    const files = [...UNITS].map(([name, unit]) => {
      expect(unit.match(/^ExecStart=waybill /gm)?.length ?? 0).toBe(name.endsWith('.service') ? 1 : 0)
      return { file: join(folder, name), unit: unit.replace('ExecStart=waybill ', `ExecStart=${program} `) }
    })
    for (const { file, unit } of files) await writeFile(file, unit)
    // What stands beside the units on this machine, and what may be wrong with that, is not looked at.
    const beside = await temporaryFolder()
    for (const target of TARGETS) await writeFile(join(beside, `${target}.target`), '[Unit]\n')
    const { status, stdout, stderr } = spawnSync(
      'systemd-analyze',
      ['verify', '--man=no', ...files.map(({ file }) => file)],
      { env: { ...process.env, SYSTEMD_UNIT_PATH: beside }, encoding: 'utf8' },
    )
    // What it does not know it tells, and ends with 0 all the same.
    expect([status, stdout, stderr]).toEqual([0, '', ''])
  })

  /** Instants from noon before clocks are set ahead in New York. */
  const elapses = (calendar: string): string[] => {
    const options = ['calendar', '--base-time=2026-03-07 17:00:00 UTC', '--iterations=2', calendar]
    const said = execFileSync('systemd-analyze', options, {
      env: { ...process.env, TZ: 'UTC' },
      encoding: 'utf8',
    })
    return [...said.matchAll(/(?:elapse|#2): \w+ (\S+ \S+) UTC/g)].map(([, instant = '']) => instant)
  }

  it('comes to the time of the timer in the night of summer time, too, and leaves out a time that there is not', () => {
    const [calendar = ''] = valuesOf(UNITS.get('waybill-nightly.timer') ?? '', 'OnCalendar')
    expect(elapses(calendar)).toEqual(['2026-03-08 08:15:00', '2026-03-09 08:15:00'])
    expect(elapses(calendar.replace(' 04:', ' 02:'))).toEqual(['2026-03-09 06:15:00', '2026-03-10 06:15:00'])
    expect(text).toContain(`systemd-analyze calendar --iterations=3 '${calendar}'`)
  })
})

describe('the crontab', () => {
  const lines = crontab.split('\n').flatMap((line) => {
    const [, cron, command] = /^((?:\S+ ){4}\S+) +(cd .+)$/.exec(line) ?? []
    return cron === undefined || command === undefined ? [] : [{ cron, command }]
  })

  it('means the times that its text tells', () => {
    const first = lines.map(({ cron }) => firesAfter({ cron, zone: 'Etc/UTC' }, 0).next().value)
    expect(first).toEqual([95, 135].map((minutes) => minutes * 60_000))
    expect(crontab).not.toContain('%')
  })

  it('finds Node, settings and home in the environment of cron: says nothing, and all is sent', async () => {
    const clinic = await openClinic()
    const { folder } = clinic.workplace
    await clinic.workplace.job(
      'nightly-screenings',
      `exports: { from: ../inbox, match: "*.csv", expect: { by: "0 0 1 1 *", zone: Etc/UTC } }
mapping: clinic
accounts: { register: never }
`,
    )
    const file = await clinic.deliver('a.csv', `${HEADER}${ANN}${BEN}`)
    // Just in time, by a deadline that hardly comes again while the test is on.
    const arrived = Date.UTC(new Date().getUTCFullYear(), 0, 1) / 1000 - 1
    await utimes(file, arrived, arrived)
    const key = join(folder, 'api-key')
    await writeFile(key, clinic.store.environment['WAYBILL_API_KEY'] ?? '')
    const here: Readonly<Record<string, string>> = {
      WAYBILL_HOME: join(folder, 'the-home'),
      WAYBILL_GATEWAY_URL: clinic.store.environment['WAYBILL_GATEWAY_URL'] ?? '',
      WAYBILL_API_KEY_FILE: key,
      WAYBILL_ACCESS_TOKEN_COMMAND: `'echo ${clinic.store.environment['WAYBILL_ACCESS_TOKEN']}'`,
    }
    // Where npm puts the command, and the Node that it finds there.
    const bin = join(folder, 'bin')
    await mkdir(bin)
    await symlink(join(PROJECT, 'bin/waybill.js'), join(bin, 'waybill'))
    await symlink(process.execPath, join(bin, 'node'))
    const placed = settings
      .replace('PATH=/usr/local/bin', `PATH=${bin}`)
      .replace(/^(WAYBILL_\w+)=.*$/gm, (_, name: string) => `${name}=${here[name]}`)
    await writeFile(join(folder, 'settings'), placed)
    for (const { command } of lines) {
      const typed = command
        .replaceAll('/srv/waybill', folder)
        .replaceAll('/etc/waybill/settings', join(folder, 'settings'))
      // What Debian's cron and cronie give a command.
      const env = { HOME: '/', LOGNAME: 'waybill', PATH: '/usr/bin:/bin', SHELL: '/bin/sh' }
      const { stdout, stderr } = await run('/bin/sh', ['-c', typed], { env, cwd: '/' })
      // The first run on a ledger says that it is new, also where it is to be quiet.
      const said = stderr.split('\n').filter((line) => !line.includes('the ledger is new'))
      expect([stdout, said.join('')], typed).toEqual(['', ''])
    }
    expect(await clinic.stored()).toEqual(GOOD)
    expect([here['WAYBILL_HOME'], join(folder, '.waybill')].map((path) => existsSync(path ?? ''))).toEqual([
      true,
      false,
    ])
  })
})

describe('the CronJob', () => {
  const { podFailurePolicy, template } = CronJob.parse(cronJob).spec.jobTemplate.spec
  const { containers, restartPolicy, volumes } = template.spec

  it('names what it defines: the container, its volumes, a home of which the volume is the parent', () => {
    expect(podFailurePolicy.rules.flatMap(({ onExitCodes }) => onExitCodes?.containerName ?? [])).toEqual(
      containers.map(({ name }) => name),
    )
    const [waybill] = containers
    expect(waybill?.volumeMounts.map(({ name }) => name)).toEqual(volumes.map(({ name }) => name))
    const own = waybill?.env.map(({ name }) => name) ?? []
    expect(VARIABLES).toEqual(expect.arrayContaining(own))
    const home = waybill?.env.find(({ name }) => name === 'WAYBILL_HOME')?.value
    expect(waybill?.volumeMounts.map(({ mountPath }) => mountPath)).toContain(dirname(home ?? ''))
    // Kubernetes takes a podFailurePolicy with this alone.
    expect(restartPolicy).toBe('Never')
  })

  it('is as Kubernetes defines it, and what is not would be told', NEEDS_TYPES, async () => {
    const folder = await temporaryFolder()
    const right = JSON.stringify(cronJob)
    // As a literal, in which TypeScript takes no field that the definition does not have.
    const texts = [right, ...WRONG.map(([part, other]) => right.replace(part, other))]
    const files = texts.map((_, at) => join(folder, `${at}.ts`))
    for (const [at, literal] of texts.entries())
      await writeFile(
        files[at] ?? '',
        `import type { CronJob } from '${TYPES}/batch/v1'\nexport const cronJob: CronJob = ${literal}\n`,
      )
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', '']
    const { stdout } = spawnSync(COMPILER, ['--noEmit', '--strict', ...modules, ...files], {
      cwd: folder,
      // The compiler ends before collecting garbage would pay.
      env: { ...process.env, GOGC: 'off' },
      encoding: 'utf8',
    })
    const told = stdout.split('\n').filter((line) => /^\d\.ts/.test(line))
    expect(told.map((line) => line.replace(/\(.*?error TS\d+: /, ' '))).toEqual(
      WRONG.map(([, , problem], at) => expect.stringMatching(`^${at + 1}\\.ts .*${problem}`)),
    )
  })
})

/** Part of the CronJob, what else may be written for it by mistake, and what is wrong with that. */
const WRONG = [
  ['"timeZone"', '"timezone"', "timezone.*does not exist in type 'CronJobSpec'"],
  ['"schedule":"15 2 * * *",', '', "Property 'schedule' is missing"],
  [
    '"status":"True"',
    '"state":"True"',
    "state.*does not exist in type 'PodFailurePolicyOnPodConditionsPattern'",
  ],
  ['"values":[1,2,4,70]', '"values":"1"', "'string' is not assignable to type 'number\\[\\]'"],
  ['"image":', '"img":', "img.*does not exist in type 'Container'"],
] as const
