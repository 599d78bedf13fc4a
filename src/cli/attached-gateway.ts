/**
 * A reference gateway in a process of its own that belongs to the process that has started it, from both sides. Standard input is the tie:
 * its first line brings the credentials, which no other user of the machine can read there; its end is that of the other process, however
 * that came, and also where it came before this one had begun to listen.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { WaybillError } from '../model/errors.ts'

/** What the reference gateway asks for (`ReferenceGatewayOptions`); any will do where it is not given. */
const Credentials = z.object({
  apiKeys: z.array(z.string().min(1)).min(1).optional(),
  tokens: z.array(z.string().min(1)).min(1).optional(),
  controlSecret: z.string().min(1).optional(),
})
type Credentials = z.infer<typeof Credentials>

const Listening = z.object({ url: z.string() })

/** How long it may take to end, in milliseconds. */
const END_MS = 5_000

/**
 * Starts it on a free port.
 * @param options of `waybill gateway`
 * @throws WaybillError `gateway-unreachable` where it does not come to listen
 */
export async function startAttached(
  options: readonly string[],
  credentials: Credentials,
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const entry = fileURLToPath(new URL('../../bin/waybill.js', import.meta.url))
  const args = ['gateway', '--attached', '--port', '0', '--json', ...options]
  const child = spawn(process.execPath, [...process.execArgv, entry, ...args], {
    // What the environment says is meant for this process; what the gateway needs it is told.
    env: {},
    // A Ctrl-C in the terminal is for this process, which still needs it to finish what is under way.
    detached: true,
  })
  let said = ''
  child.stderr.on('data', (text: Buffer) => {
    said += text.toString()
  })
  // What it could not be told, its end tells.
  child.stdin.on('error', () => {})
  child.stdin.write(`${JSON.stringify(credentials)}\n`)
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => resolve()).once('error', () => resolve())
  })
  const failed = (): never => {
    throw new WaybillError('gateway-unreachable', `the built-in gateway could not be started: ${said.trim()}`)
  }
  const [line] = await Promise.race([
    once(createInterface({ input: child.stdout }), 'line'),
    ended.then(failed),
  ])
  return {
    url: Listening.parse(JSON.parse(String(line))).url,
    async stop() {
      const late = setTimeout(() => child.kill('SIGKILL'), END_MS)
      child.stdin.end()
      await ended
      clearTimeout(late)
    },
  }
}

/**
 * The side of the gateway.
 * @param input standard input; undefined where there is none
 * @throws WaybillError `usage-wrong` where the first line brings no credentials
 */
export async function attach(
  input: Readable = Readable.from([]),
): Promise<{ readonly credentials: Credentials; readonly ended: Promise<unknown> }> {
  const lines = createInterface({ input })
  const ended = once(lines, 'close')
  const [line] = await Promise.race([once(lines, 'line'), ended.then(() => [''])])
  const { data } = Credentials.safeParse(jsonOf(String(line)))
  if (data === undefined)
    throw new WaybillError('usage-wrong', 'with --attached, standard input must begin with credentials', {
      remedy: 'Leave --attached out: it is for programs that start a gateway of their own.',
    })
  return { credentials: data, ended }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
