/** `waybill accounts`: who has which account, and erasing accounts. */
import { resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { EXIT, WaybillError } from '../model/errors.ts'
import { confirmAccounts, eraseAccounts, exportCrosswalk, forgetAccounts } from '../runs/accounts.ts'
import { counted, n, shownPath } from '../shown-text.ts'
import { type CommandContext, say } from './command-form.ts'
import type { Action } from './commands.ts'

export const accountsExport: Action<'accounts export'> = async (context, { job, out, ...options }) => {
  const crosswalk = await exportCrosswalk(context, job, { to: resolve(out), files: options.file ?? [] })
  say(context, options.json, crosswalk, ({ file, written, unknown, gateway }) => [
    `${shownPath(file)}: ${counted(written, 'person', 'people')} with their account ids at ${gateway}`,
    ...(unknown === 0
      ? []
      : [`${n(unknown)} more ${unknown === 1 ? 'has' : 'have'} no account id in this ledger`]),
  ])
  return EXIT.ok
}

export const accountsErase: Action<'accounts erase'> = async (context, options) => {
  const erasure = await eraseAccounts(context, {
    file: resolve(options.file),
    job: options.job,
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
  say(context, options.json, erasure, () =>
    receipts === undefined
      ? `Would erase ${counted(people, 'account')} at ${gateway}; of ${n(known)} of these people the ledger knows`
      : [
          `${counted(people, 'account')} at ${gateway}: erased ${n(erased)}, not there ${n(notThere)}, refused ${n(refused)}`,
          `Receipts: ${shownPath(receipts)}`,
          ...(scrubbed === false
            ? [
                'Another process reads the ledger, whose log may still hold account ids: run the same command again later.',
              ]
            : []),
          'A row of theirs in an export registers them again: take them out of what the vendor sends, or add them to skipWhen.',
          'Files may still hold them: exports and their archive, collections, and rejects files, which `waybill prune` removes.',
        ],
  )
  return refused === 0 ? EXIT.ok : EXIT.recordsLeftBehind
}

export const accountsForget: Action<'accounts forget'> = async (context, { file, job, json }) => {
  const done = await forgetAccounts(context, { file: resolve(file), job })
  say(context, json, done, ({ people, forgotten, gateway }) => [
    `${n(forgotten)} of ${counted(people, 'account')} at ${gateway} forgotten; the ledger does not know the others`,
    'The next export that names these people registers them again. Runs look for their records first, and send the missing ones.',
  ])
  return EXIT.ok
}

export const accountsConfirm: Action<'accounts confirm'> = async (context, { file, job, json }) => {
  const done = await confirmAccounts(context, { file: resolve(file), job })
  say(context, json, done, ({ people, confirmed, gateway }) => [
    `${counted(people, 'person', 'people')} at ${gateway} confirmed; ${n(confirmed)} of them had stood for several people`,
    'Records that were left behind: `waybill rerun` of their run sends them.',
  ])
  return EXIT.ok
}

async function ask({ terminal, input, writeError }: CommandContext, question: string): Promise<boolean> {
  if (terminal === false || input === undefined)
    throw new WaybillError('usage-wrong', 'accounts are erased for good, and nobody is here to ask', {
      remedy: 'Look first with --dry-run; then add --yes.',
    })
  const lines = createInterface({ input: input() })
  try {
    writeError(question)
    for await (const line of lines) return /^y(es)?$/i.test(line.trim())
    return false
  } finally {
    lines.close()
  }
}
