/**
 * Waybill as the drill runs it: the same command line, put together with watched parts. What it is told comes as JSON in its first
 * argument (`Watch`), the command line behind it. The shipped program has none of this.
 */

import { randomUUID } from 'node:crypto'
import module from 'node:module'
import { join } from 'node:path'
import type { CommandContext } from '../src/cli/command-form.ts'
import type { GatewayConnection } from '../src/runs/application.ts'
import {
  createPass,
  type Kill,
  watchBytes,
  watchedGateway,
  watchedLedger,
  watchMigration,
} from './kill-points.ts'
import { watchSyncs } from './machine-restart.ts'

export interface Watch {
  readonly kill?: Kill
  readonly halt?: Kill
  /** A wait takes so many times less than it says. */
  readonly haste: number
  /** Milliseconds that an answer may take to begin. */
  readonly answerWithin: number
  /** How often the machine was started again. */
  readonly boot: number
  /** Host of this process: to the other processes it is of another machine, and may be alive. */
  readonly machine?: string | undefined
}

module.enableCompileCache(join(import.meta.dirname, '../node_modules/.cache/waybill'))
const [{ main }, { createGateway }, { openLedger }, { createAccountIdCipher }] = await Promise.all([
  import('../src/main.ts'),
  import('../src/gateway/gateway.ts'),
  import('../src/ledger/sqlite/open-ledger.ts'),
  import('../src/ledger/sealed-ids.ts'),
])

const [told = '{}', ...argv] = process.argv.slice(2)
const { kill, halt, haste, answerWithin, boot, machine } = JSON.parse(told) as Watch
const pass = createPass(kill, halt)
watchMigration(pass)
watchBytes(pass)
if (process.env['WAYBILL_HOME'] !== undefined) watchSyncs(process.env['WAYBILL_HOME'])

/** Identity of a process of another machine. */
function identityOf(host: string): Pick<CommandContext, 'owner' | 'isDead'> {
  return { owner: `${host}:${process.pid}#${randomUUID()}`, isDead: () => false }
}

const compose = (context: CommandContext): CommandContext => ({
  ...context,
  ...(machine === undefined ? {} : identityOf(machine)),
  sleep: (ms, signal) => context.sleep(ms / haste, signal),
  async openLedger(...given) {
    const ledger = await context.openLedger(...given)
    if (boot === 0) return watchedLedger(ledger, pass)
    // It looks after the files; the ledger itself is to take this machine for another.
    await ledger.close()
    const { home, key = '' } = context.settings
    const ids = createAccountIdCipher(() => key)
    return watchedLedger(await openLedger(join(home, 'ledger.sqlite'), `boot ${boot}`, undefined, ids), pass)
  },
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
    userToken: async ({ reference }) => `token-${reference}`,
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
