/**
 * Runs commands within one process, one after the other, and prints their exit codes and which files of the folder are open then. It does
 * not end the process: that ends by itself, unless a command has left something open. Arguments: folder, commands as JSON, each with its
 * gateway in front.
 */
import { readdirSync, readlinkSync } from 'node:fs'
import { z } from 'zod'
import { runCommandLine } from '../../src/main.ts'

process.umask(0o077)
const [folder = '', commands = '[]'] = process.argv.slice(2)
const codes: number[] = []
const ignore = (): void => {}
for (const [gateway, ...argv] of z.array(z.array(z.string())).parse(JSON.parse(commands)))
  codes.push(
    await runCommandLine(argv, {
      environment: { ...process.env, WAYBILL_GATEWAY_URL: gateway },
      ...{ folder, terminal: false, columns: undefined, out: ignore, input: () => process.stdin },
      err: (text) => process.stderr.write(text),
      interrupt: new AbortController().signal,
    }),
  )
const open = readdirSync('/proc/self/fd').flatMap((fd) => {
  try {
    return readlinkSync(`/proc/self/fd/${fd}`)
  } catch {
    // It was that of the list itself.
    return []
  }
})
process.stdout.write(JSON.stringify({ codes, open: open.filter((path) => path.startsWith(folder)) }))
