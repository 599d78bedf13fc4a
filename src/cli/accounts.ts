/** `waybill accounts export`: who has which account. */
import { resolve } from 'node:path'
import { EXIT } from '../model/errors.ts'
import { exportCrosswalk } from '../runs/crosswalk.ts'
import { counted, n, shownPath } from '../shown-text.ts'
import type { Action } from './context.ts'

export interface AccountsExportOptions {
  readonly job: string
  readonly out: string
  readonly file?: readonly string[]
  readonly json?: true
}

export const accountsExport: Action<AccountsExportOptions> = async (
  context,
  { job, out, file = [], json },
) => {
  const crosswalk = await exportCrosswalk(context, job, { to: resolve(out), files: file })
  const { written, unknown, gateway } = crosswalk
  context.out(
    json
      ? JSON.stringify(crosswalk)
      : [
          `${shownPath(crosswalk.file)}: ${counted(written, 'person', 'people')} with their account ids at ${gateway}`,
          ...(unknown === 0
            ? []
            : [`${n(unknown)} more ${unknown === 1 ? 'has' : 'have'} no account id in this ledger`]),
        ],
  )
  return EXIT.ok
}
