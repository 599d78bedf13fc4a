/**
 * Waybill as the drill runs it: the same command line, put together with watched parts. What it is told comes as JSON in its first
 * argument (`Watch`), the command line behind it. The shipped program has none of this.
 */
import { randomUUID } from 'node:crypto'
import module from 'node:module'
import { join } from 'node:path'
import type { CommandContext } from '../src/cli/context.ts'
import type { GatewayConnection } from '../src/runs/application.ts'
import {
  createPass,
  type Kill,
  watchBytes,
  watchedGateway,
  watchedLedger,
  watchMigration,
} from './kill-points.ts'

export interface Watch {
  readonly kill?: Kill
  readonly halt?: Kill
  /** A wait takes so many times less than it says. */
  readonly haste: number
  /** Milliseconds that an answer may take to begin. */
  readonly answerWithin: number
}

module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/waybill'))
const [{ main }, { createGateway }] = await Promise.all([
  import('../src/main.ts'),
  import('../src/gateway/gateway.ts'),
])

const [told = '{}', ...argv] = process.argv.slice(2)
const { kill, halt, haste, answerWithin } = JSON.parse(told) as Watch
const pass = createPass(kill, halt)
watchMigration(pass)
watchBytes(pass)

const compose = (context: CommandContext): CommandContext => ({
  ...context,
  sleep: (ms, signal) => context.sleep(ms / haste, signal),
  openLedger: async () => watchedLedger(await context.openLedger(), pass),
  connectGateway: async () => connect(context),
})

/** As the product connects, but for time limits that fit a round of a second, and tokens that are made on the spot. */
function connect({ settings, now }: CommandContext): GatewayConnection {
  const { gatewayUrl = '', apiKey = '', accessToken = '' } = settings
  const gateway = createGateway({
    baseUrl: gatewayUrl,
    apiKey,
    accessToken: async () => accessToken,
    renewAccessToken: async () => randomUUID(),
    now,
    nextRequestId: randomUUID,
    maxSockets: 64,
    timeouts: { response: answerWithin, request: 4 * answerWithin },
    maxAnswerBytes: 1024 ** 2,
  })
  return {
    gateway: watchedGateway(gateway, pass),
    name: gatewayUrl,
    describe: gatewayUrl,
    close: async () => gateway.close(),
  }
}

process.exitCode = await main(argv, compose)
