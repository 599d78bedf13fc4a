/** Examples of several machines are as Compose and Kubernetes define them; sizes of docs/scale.md follow from its costs by arithmetic. */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { VARIABLES } from '../../src/system/settings.ts'
import { needing } from '../needed.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { PROJECT, page } from './pages.ts'

const text = page('docs/scale.md')
const compose = page('examples/compose/compose.yaml')
const manifests = ['workers', 'schedule'].map((name) => page(`examples/kubernetes/${name}.yaml`))
const TYPES = join(PROJECT, 'node_modules/kubernetes-types')
const COMPILER = join(PROJECT, 'node_modules/.bin/tsc')

/** Parts of the Compose Specification (compose-spec.io) that the example uses; nothing else is taken. */
const Service = z.strictObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()),
  env_file: z.array(z.string()).optional(),
  secrets: z.array(z.string()),
  volumes: z.array(z.string().regex(/^[\w./-]+:\/[\w./-]+(:ro)?$/)),
  networks: z.array(z.string()),
  healthcheck: z.strictObject({
    test: z.array(z.string()).min(2).optional(),
    interval: z
      .string()
      .regex(/^\d+s$/)
      .optional(),
    disable: z.boolean().optional(),
  }),
  depends_on: z
    .record(
      z.string(),
      z.strictObject({
        condition: z.enum(['service_started', 'service_healthy', 'service_completed_successfully']),
      }),
    )
    .optional(),
  deploy: z.strictObject({ replicas: z.int() }).optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+[sm]$/)
    .optional(),
  restart: z.enum(['no', 'always', 'on-failure', 'unless-stopped']).optional(),
})
const Compose = z.strictObject({
  services: z.record(z.string(), Service),
  volumes: z.record(z.string(), z.strictObject({})),
  networks: z.record(z.string(), z.strictObject({ internal: z.boolean().optional() })),
  secrets: z.record(z.string(), z.strictObject({ file: z.string() })),
})

it('the compose file has the parts of the specification, and names only what it defines', () => {
  const { services, volumes, networks, secrets } = Compose.parse(parse(compose, { merge: true }))
  for (const [name, service] of Object.entries(services)) {
    for (const one of service.networks) expect(Object.keys(networks), name).toContain(one)
    for (const one of service.secrets) expect(Object.keys(secrets), name).toContain(one)
    for (const one of Object.keys(service.depends_on ?? {}))
      expect(Object.keys(services), name).toContain(one)
    for (const [volume = ''] of service.volumes.map((one) => one.split(':')))
      if (!volume.startsWith('.')) expect(Object.keys(volumes), name).toContain(volume)
    for (const variable of Object.keys(service.environment))
      if (variable.startsWith('WAYBILL_')) expect(VARIABLES).toContain(variable)
  }
  expect(services['worker']?.command?.[0]).toBe('worker')
  expect(services['schedule']).toMatchObject({ command: ['schedule'], deploy: { replicas: 2 } })
  const WRONG = [
    ['condition: service_healthy', 'condition: healthy'],
    ['    restart:', '    restarts:'],
    ['internal: true', 'internal: "yes, please"'],
  ] as const
  for (const [right, wrong] of WRONG)
    expect(Compose.safeParse(parse(compose.replace(right, wrong), { merge: true })).success, wrong).toBe(
      false,
    )
})

it(
  'the manifests are as Kubernetes defines them: workers, and two schedules',
  needing(existsSync(TYPES), 'kubernetes-types, installed'),
  async () => {
    const folder = await temporaryFolder()
    const right = manifests.map((one) => JSON.stringify(parse(one)))
    expect(right).toHaveLength(2)
    expect(right[1]).toContain('"replicas":2')
    const texts = [...right, right[0]?.replace('"matchLabels"', '"matchLabel"') ?? '']
    const files = texts.map((_, at) => join(folder, `${at}.ts`))
    for (const [at, literal] of texts.entries())
      await writeFile(
        files[at] ?? '',
        `import type { Deployment } from '${TYPES}/apps/v1'\nexport const deployment: Deployment = ${literal}\n`,
      )
    const modules = ['--module', 'esnext', '--moduleResolution', 'bundler', '--types', '']
    const { stdout } = spawnSync(COMPILER, ['--noEmit', '--strict', ...modules, ...files], {
      cwd: folder,
      // The compiler ends before collecting garbage would pay.
      env: { ...process.env, GOGC: 'off' },
      encoding: 'utf8',
    })
    const told = stdout.split('\n').filter((line) => /^\d\.ts/.test(line))
    expect(told).toEqual([expect.stringMatching(/^2\.ts.*matchLabel/)])
  },
)

it('the sizes follow from the costs', () => {
  const [micros = 0, records = 0, rows = 0, kept = 0, log = 0, server = 0] = (
    /Measured costs: (.*?)\. A night/s.exec(text)?.[1]?.match(/(?<![\w-])\d+(\.\d+)?(?= )/g) ?? []
  ).map(Number)
  expect([micros, records, rows, kept, log, server]).toEqual([200, 13.6, 35, 520, 590, 25])
  const night = 8 * 3600
  const sized = [...text.matchAll(/^\| ([\d,]{9,}) \| (.*) \|$/gm)]
  expect(sized).toHaveLength(3)
  for (const [, of = '', cells = ''] of sized) {
    const count = Number(of.replaceAll(',', '')) / records
    const perSecond = count / rows / night
    const hours = (count * micros) / 1e6 / 3600
    const shown = cells
      .split(' | ')
      .flatMap((cell) => cell.split(', '))
      .map((cell) => Number(cell.replaceAll(',', '')))
    const expected = [
      Math.round(count),
      hours,
      Math.ceil(hours / 8),
      perSecond,
      Math.ceil(perSecond),
      (count * server) / 1e6 / 3600,
      (count * kept) / 1e9,
      (count * log) / 1e9,
    ]
    for (const [at, value] of expected.entries()) {
      const given = shown[at] ?? Number.NaN
      expect(Math.abs(given - value), `${of}: ${given} for ${value}`).toBeLessThanOrEqual(
        Math.max(0.06, value * 0.05),
      )
    }
  }
})
