/**
 * `npm run tour`: a job of every kind, one after the other, against a gateway that this program starts: a roster, screenings, questionnaires on
 * paper, requests for medical records, a collection of what stands there then, and the articles. All people are made up. What it made stays in `.waybill/tour`, or in the folder
 * that is named.
 */
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { cp, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import Table from 'cli-table3'
import { startReferenceGateway } from '../packages/reference-gateway/src/server.ts'
import { generateSamples } from './generate.ts'
import { writeTourExports } from './tour-exports.ts'

const PROJECT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = resolve(process.argv[2] ?? join(PROJECT, '.waybill/tour'))
const SEED = 20260302
const PEOPLE = 40

const say = (line = ''): boolean => process.stdout.write(`${line}\n`)
const at = (...path: string[]): string => join(FOLDER, ...path)

await rm(FOLDER, { recursive: true, force: true })
await mkdir(FOLDER, { recursive: true })
await cp(join(PROJECT, 'samples/tour'), FOLDER, { recursive: true })
await cp(join(PROJECT, 'mappings'), at('mappings'), { recursive: true })
const { people, late, authorize } = await writeTourExports(FOLDER, SEED, PEOPLE)
await generateSamples({ participants: PEOPLE, messages: 5, seed: SEED, out: at('inbox') })

const tokens = people.map(({ participantId: reference }) => [
  `token-${reference}`,
  { reference, type: 'partnerAccountId' as const },
])
const gateway = await startReferenceGateway({
  clock: Date.now,
  makeId: randomUUID,
  tokenOwners: Object.fromEntries(tokens),
})

interface Summary {
  readonly run: string
  readonly balanced: boolean
  readonly rows: { readonly read: number }
  readonly records: Readonly<Record<string, Readonly<Record<string, number>>>>
  readonly people?: Readonly<Record<string, number>>
  readonly collection?: { readonly folder: string }
}

/** As an operator would type it. */
async function waybill(
  ...args: readonly string[]
): Promise<{ readonly code: number; readonly summary: Summary }> {
  const child = spawn(join(PROJECT, 'bin/waybill.js'), [...args, '--json', '--quiet'], {
    cwd: FOLDER,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      WAYBILL_HOME: at('home'),
      WAYBILL_JOBS: at('jobs'),
      WAYBILL_MAPPINGS: at('mappings'),
      WAYBILL_GATEWAY_URL: gateway.url,
      WAYBILL_API_KEY: 'tour',
      WAYBILL_ACCESS_TOKEN: 'token-of-the-program',
      WAYBILL_USER_TOKEN_COMMAND: 'echo "token-$WAYBILL_ACCOUNT_REFERENCE"',
      WAYBILL_LOG_LEVEL: 'error',
    },
  })
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { code: Number(code), summary: JSON.parse(out) }
}

const table = new Table({
  head: ['what', 'job', 'rows', 'accepted', 'unchanged', 'left behind', 'exit'],
  style: { head: [], border: [] },
  colAligns: ['left', 'left', 'right', 'right', 'right', 'right', 'right'],
})

async function step(what: string, ...args: readonly string[]): Promise<Summary> {
  say(`$ waybill ${args.join(' ')}`)
  const { code, summary } = await waybill(...args)
  if (!summary.balanced) throw new Error(`${what}: the balance does not hold`)
  const { people: asked } = summary
  const sum = (key: string): number =>
    Object.values(summary.records).reduce((total, one) => total + (one[key] ?? 0), 0)
  const [accepted, unchanged, left] =
    asked === undefined
      ? [sum('accepted'), sum('unchanged'), sum('rejected') + sum('inDoubt')]
      : [asked['collected'], asked['unchanged'], asked['refused']]
  table.push(
    [
      what,
      args[1] === undefined ? '' : shortened(args),
      summary.rows.read,
      accepted,
      unchanged,
      left,
      code,
    ].map(String),
  )
  return summary
}

const shortened = ([command, what = '']: readonly string[]): string =>
  command === 'run' ? what : `${command} of it`

try {
  await step('register a roster', 'run', 'tour-roster')
  await step('deliver screenings', 'run', 'tour-screenings')
  await step('the same again', 'run', 'tour-screenings')
  await step('answer tests from paper', 'run', 'tour-papers')
  const requests = await step('ask for medical records', 'run', 'tour-requests')
  for (const request of late) await authorize(request)
  await step('a PDF that came late', 'rerun', requests.run)
  const collected = await step('collect what stands there', 'run', 'tour-collect')
  await step('mirror the articles', 'run', 'tour-articles')
  say()
  say(table.toString())
  say()
  say(
    'Left behind on purpose: screenings with faults (samples/README.md), a sheet whose height no page of the test offers, and at first a',
  )
  say(
    'request whose authorization was not there yet. Everything else was accepted once, and the second time nothing was sent.',
  )
  const folder = collected.collection?.folder ?? ''
  const lines = (await readFile(join(folder, 'people.ndjson'), 'utf8')).trimEnd().split('\n')
  say()
  say(`Collected: ${relative(PROJECT, folder)} (${(await readdir(folder)).sort().join(', ')})`)
  const found = new Map<string, { items: number; people: number }>()
  for (const line of lines)
    for (const [kind, items] of Object.entries(JSON.parse(line) as Record<string, unknown>)) {
      if (!Array.isArray(items)) continue
      const { items: before, people: owners } = found.get(kind) ?? { items: 0, people: 0 }
      found.set(kind, { items: before + items.length, people: owners + (items.length > 0 ? 1 : 0) })
    }
  for (const [kind, { items, people: owners }] of found) say(`  ${kind}: ${items} of ${owners} people`)
  say(`Look around: WAYBILL_HOME=${relative(PROJECT, at('home'))} npx waybill runs`)
} finally {
  await gateway.close()
}
