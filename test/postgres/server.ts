/**
 * A PostgreSQL server for all tests of a command: the first test that needs the server starts it, and the command ends it (`one-server.ts`).
 * Each test has a schema of its own.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { expect, inject } from 'vitest'
import { z } from 'zod'
import { type Server, STARTING_MS, startServer } from './start-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of the server. */
    postgres: string
  }
}

const Ready = z.object({ port: z.number(), pid: z.number() })

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

/** Rows of a query in the schema of the address. */
export async function rowsOf<Row extends pg.QueryResultRow>(url: string, query: string): Promise<Row[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    return (await client.query<Row>(query)).rows
  } finally {
    await client.end()
  }
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
