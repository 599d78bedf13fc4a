/** `waybill accounts`: account ids of people; erases accounts. */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { EXIT, WaybillError } from '../model/errors.ts'
import { confirmAccounts, eraseAccounts, exportCrosswalk, forgetAccounts } from '../runs/accounts.ts'
import { counted, n, shownPath } from '../system/shown-text.ts'
import { type CommandContext, print } from './command-form.ts'
import type { Action } from './commands.ts'
import { personOf } from './run.ts'

const accountsExport: Action<'accounts export'> = async (context, { job, out, ...options }) => {
  const crosswalk = await exportCrosswalk(context, job, {
    to: resolve(out),
    by: personOf(context, options),
    files: options.file ?? [],
  })
  print(context, options.json, crosswalk, ({ file, written, unknown, gateway }) => [
    `${shownPath(file)}: ${counted(written, 'person', 'people')} with their account ids at ${gateway}`,
    ...(unknown === 0
      ? []
      : [`${n(unknown)} more ${unknown === 1 ? 'has' : 'have'} no account id in this ledger`]),
  ])
  return EXIT.ok
}

const accountsErase: Action<'accounts erase'> = async (context, options) => {
  const erasure = await eraseAccounts(context, {
    file: resolve(options.file),
    job: options.job,
    by: personOf(context, options),
    dryRun: options.dryRun === true,
    confirm: (people, gateway) =>
      options.yes
        ? Promise.resolve(true)
        : ask(context, `Erase ${counted(people, 'account')} at ${gateway}, for good? (yes/no) `),
  })
  if (erasure === undefined) {
    context.out('Nothing was erased.')
    return EXIT.ok
  }
  const { people, known, erased, notThere, refused, gateway, receipts, scrubbed } = erasure
  print(context, options.json, erasure, () =>
    receipts === undefined
      ? `Would erase ${counted(people, 'account')} at ${gateway}; the ledger knows ${n(known)} of these people`
      : [
          `${counted(people, 'account')} at ${gateway}: erased ${n(erased)}, not found ${n(notThere)}, refused ${n(refused)}`,
          `Receipts: ${shownPath(receipts)}`,
          ...(scrubbed === false ? [context.settings.ledger === undefined ? HELD_OPEN : ON_SERVER] : []),
          'A row in an export registers these people again: have the vendor leave them out, or add them to skipWhen.',
          'Files may still hold them: exports and their archive, collections, and rejects files, which `waybill prune` removes.',
        ],
  )
  return refused === 0 ? EXIT.ok : EXIT.recordsLeftBehind
}

const HELD_OPEN =
  'Another process has the ledger open, and its log may still hold account ids: repeat this command later.'
const ON_SERVER = 'Log and backups of the database server may hold account ids until the server removes them.'

const accountsForget: Action<'accounts forget'> = async (context, { file, job, json, ...acting }) => {
  const by = personOf(context, acting)
  const done = await forgetAccounts(context, { file: resolve(file), job, by })
  print(context, json, done, ({ people, forgotten, gateway }) => [
    `${n(forgotten)} of ${counted(people, 'account')} at ${gateway} forgotten; the ledger does not know the others`,
    'The next export with these people registers them again. Runs look up their records first, and send the missing ones.',
  ])
  return EXIT.ok
}

const accountsConfirm: Action<'accounts confirm'> = async (context, { file, job, json, ...acting }) => {
  const by = personOf(context, acting)
  const done = await confirmAccounts(context, { file: resolve(file), job, by })
  print(context, json, done, ({ people, confirmed, gateway }) => [
    `${counted(people, 'person', 'people')} at ${gateway} confirmed; ${n(confirmed)} of them had been taken for several people`,
    'To send records that were left behind, use `waybill rerun` with their run.',
  ])
  return EXIT.ok
}

async function ask({ terminal, input, writeError }: CommandContext, question: string): Promise<boolean> {
  if (terminal === false || input === undefined)
    throw new WaybillError(
      'usage-wrong',
      'accounts are erased for good, and there is no terminal to confirm it',
      {
        remedy: 'Check with --dry-run first; then add --yes.',
      },
    )
  const lines = createInterface({ input: input() })
  try {
    writeError(question)
    for await (const line of lines) return /^y(es)?$/i.test(line.trim())
    return false
  } finally {
    lines.close()
  }
}

export const actions = { accountsExport, accountsConfirm, accountsForget, accountsErase }
