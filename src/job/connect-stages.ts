/** Connects the stages of a run: one way of sending, one memory, one reconciler for all of its exports. */
import { join } from 'node:path'
import type { RunLedger, Tallies } from '../ledger/ledger.ts'
import { createBodyBuffers } from '../load/body-buffers.ts'
import { createSending } from '../load/sending.ts'
import { matchEchoes } from '../reconcile/match.ts'
import { readBack } from '../reconcile/read-back.ts'
import type { Job } from './definition-files.ts'
import type { RunDependencies } from './run-dependencies.ts'
import type { ExportContext } from './run-export.ts'
import { createStopWhen } from './stop-when.ts'

export interface RunParts {
  readonly runLedger: RunLedger
  readonly tallies: Tallies
  readonly receipts: ExportContext['receipts']
  readonly stop: (reason: unknown) => void
  readonly signal: AbortSignal
  readonly limit: number
  readonly rejectsPath: string
}

export function connectStages(
  deps: RunDependencies,
  job: Job,
  jobId: number,
  parts: RunParts,
): ExportContext {
  const { ledger, gateway, gatewayName, identity, now, random, events, home } = deps
  const { submit, accounts, stopWhen } = job.definition
  const { runLedger, tallies } = parts
  const sending = createSending({
    concurrency: submit.concurrency,
    patienceMs: submit.patience,
    tallies,
    now,
    random,
    sleep: deps.sleep,
    renewToken: () => gateway.renewToken(),
    signal: parts.signal,
    onWait: events.waiting,
  })
  const delivery = {
    gateway,
    ledger: runLedger,
    sending,
    identity,
    buffers: createBodyBuffers(),
    inDoubt: submit.inDoubt,
    now,
    random,
    reconciler: {
      match: matchEchoes,
      readBack: (entries: Parameters<typeof readBack>[2], accountIds: Parameters<typeof readBack>[3]) =>
        readBack(gateway, sending.read, entries, accountIds),
    },
  }
  return {
    home,
    ledger,
    runLedger,
    identity,
    tallies,
    events,
    now,
    receipts: parts.receipts,
    rejectsFolder: join(home, parts.rejectsPath),
    stopWhen: createStopWhen(stopWhen),
    stop: parts.stop,
    limit: parts.limit,
    load: {
      ...delivery,
      memory: ledger,
      jobId,
      limits: submit.batch,
      accounts: {
        gateway,
        gatewayName,
        ledger,
        runLedger,
        sending,
        identity,
        register: accounts.register,
        tallies,
        now,
      },
    },
  }
}
