/**
 * Prints the roads through the core, by V8's coverage: the files of which a function runs between two calls, and the files with a call that
 * waits for the last one (its stack). `node build/roads.ts`; `--list` names the files.
 */

import { once } from 'node:events'
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { Session } from 'node:inspector'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ESTree, parseSync } from 'rolldown/utils'

const ROOT = join(import.meta.dirname, '..')
/** Folders of which files count. */
const CORE = /^src\/(run|runs|load|reconcile|cli)\//

interface Road {
  readonly name: string
  /** Function that begins the road, and function that ends it, each with its file. */
  readonly from: readonly [file: string, name: string]
  readonly to: readonly [file: string, name: string]
}

const ROADS = {
  row: {
    name: 'row read → export settled',
    from: ['src/run/rows.ts', 'openRows'],
    to: ['src/model/balance.ts', 'assertBalanced'],
  },
  resumption: {
    name: 'killed run: command → chunk resumed',
    from: ['src/main.ts', 'runCommandLine'],
    to: ['src/load/recall.ts', 'recallChunk'],
  },
  rerun: {
    name: '`waybill rerun` → `execute`',
    from: ['src/main.ts', 'runCommandLine'],
    to: ['src/run/execute.ts', 'execute'],
  },
} as const satisfies Readonly<Record<string, Road>>

const MAPPING = `mapping: road
read: { format: csv }
row:
  key: [id, day]
  account: { reference: id, type: partnerAccountId }
  observedAt: { from: day, format: yyyy-MM-dd, zone: UTC }
  source: { name: Road, type: screening, sendingSystem: road }
biometrics: { heart-rate: pulse, hba1c: a1c }
`
const JOB = `job: road
exports: { from: inbox, match: "*.csv", mapping: road }
accounts: { register: never }
`
/** A record of the row is accepted, the other rejected: 400 is no pulse. */
const ROW = 'id,day,pulse,a1c\nann,2026-03-02,400,5.1\n'

const session = new Session()
session.connect()
session.post('Profiler.enable')
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })

/** Files of the core of which a function was called since the last call. */
function filesCalled(): readonly string[] {
  const files = new Set<string>()
  session.post('Profiler.takePreciseCoverage', (_, coverage) => {
    for (const { url, functions } of coverage?.result ?? []) {
      if (!url.startsWith('file:')) continue
      const file = relative(ROOT, fileURLToPath(url))
      // A module's own code runs when the module is loaded.
      const isCalled = functions.some(
        ({ functionName, ranges: [range] }) =>
          (range?.count ?? 0) > 0 && (functionName !== '' || range?.startOffset !== 0),
      )
      if (CORE.test(file) && isCalled) files.add(file)
    }
  })
  return [...files].sort()
}

let road: Road | undefined
let files: readonly string[] | undefined
let waiting: readonly string[] = []

/** Called at the start of each function that begins or ends a road. */
function pass(name: string): void {
  if (road === undefined || files !== undefined) return
  const isEnd = name === road.to[1]
  if (!isEnd && name !== road.from[1]) return
  const called = filesCalled()
  if (!isEnd) return
  files = called
  waiting = filesWaiting()
}

/** Files of the core with a call that has not returned, the innermost first. */
function filesWaiting(): readonly string[] {
  Error.stackTraceLimit = 100
  const { stack = '' } = new Error()
  const found = stack.matchAll(/(file:[^\s)]+?):\d+:\d+/g)
  const waiting = Array.from(found, ([, url = '']) => relative(ROOT, fileURLToPath(url)))
  return [...new Set(waiting)].filter((file) => CORE.test(file))
}

Object.assign(globalThis, { passRoad: pass })
const MARKED = Object.values(ROADS).flatMap(({ from, to }) => [from, to])
registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    const file = url.startsWith('file:') ? relative(ROOT, fileURLToPath(url)) : ''
    const names = new Set(MARKED.filter(([marked]) => marked === file).map(([, name]) => name as string))
    if (names.size === 0) return loaded
    return { ...loaded, source: marked(file, String(loaded.source), names) }
  },
})

/** Source in which each function of these names reports its call. */
function marked(file: string, source: string, names: ReadonlySet<string>): string {
  const bodies = parseSync(file, source).program.body.flatMap((statement) => {
    const declared: ESTree.Node | null =
      statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type !== 'FunctionDeclaration' || declared.body === null) return []
    return names.has(declared.id?.name ?? '') ? [[declared.id?.name, declared.body.start] as const] : []
  })
  return bodies.reduceRight(
    (text, [name, at]) => `${text.slice(0, at + 1)}globalThis.passRoad('${name}');${text.slice(at + 1)}`,
    source,
  )
}

/** A gateway that refuses all credentials. */
async function startRefusing(port: number): Promise<{ close(): Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(403).end()
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  return {
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const { runCommandLine } = await import('../src/main.ts')
const { startReferenceGateway } = await import('../src/open-waybill.ts')

const folder = await mkdtemp(join(tmpdir(), 'waybill-roads-'))
await mkdir(join(folder, 'inbox'))
await writeFile(join(folder, 'road.yaml'), JOB)
await cp(join(ROOT, 'mappings/catalog'), join(folder, 'mappings/catalog'), { recursive: true })
await writeFile(join(folder, 'mappings/road.yaml'), MAPPING)
const dataFile = join(folder, 'gateway.sqlite')
const startGateway = (port?: number) => startReferenceGateway({ open: true, dataFile, ...(port && { port }) })
const first = await startGateway()
const port = Number(new URL(first.url).port)
const environment = {
  WAYBILL_HOME: join(folder, 'home'),
  WAYBILL_JOBS: folder,
  WAYBILL_MAPPINGS: join(folder, 'mappings'),
  WAYBILL_GATEWAY_URL: first.url,
  WAYBILL_API_KEY: 'key',
  WAYBILL_ACCESS_TOKEN: 'token',
}

/** @returns what the command printed */
async function waybill(followed: Road | undefined, ...argv: string[]): Promise<string> {
  let out = ''
  road = followed
  files = undefined
  filesCalled()
  await runCommandLine(argv, {
    environment,
    folder,
    out: (text) => {
      out += text
    },
    err: () => {},
    terminal: false,
    interrupt: new AbortController().signal,
  })
  if (followed !== undefined) print(followed)
  return out
}

function print({ name }: Road): void {
  if (files === undefined) throw new Error(`${name}: the road does not reach its end`)
  process.stdout.write(`${String(files.length).padStart(3)} ${String(waiting.length).padStart(3)}  ${name}\n`)
  if (!process.argv.includes('--list')) return
  for (const file of files)
    process.stdout.write(`         ${file}${waiting.includes(file) ? ' (waits)' : ''}\n`)
}

async function deliver(person: string): Promise<string> {
  const file = join(folder, 'inbox', `${person}.csv`)
  await writeFile(file, ROW.replace('ann', person))
  return file
}

try {
  await deliver('ann')
  await waybill(undefined, 'run', 'road')
  const { run } = JSON.parse(
    await waybill(ROADS.row, 'run', 'road', '--file', await deliver('ben'), '--json'),
  )
  await waybill(ROADS.rerun, 'rerun', run)
  await first.close()
  const refusing = await startRefusing(port)
  await waybill(undefined, 'run', 'road', '--file', await deliver('cat'))
  await refusing.close()
  const second = await startGateway(port)
  await waybill(ROADS.resumption, 'run', 'road')
  await second.close()
} finally {
  await rm(folder, { recursive: true, force: true })
}
