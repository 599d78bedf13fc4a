/** `waybill put-aside`: an unreadable export that later runs pass over. */
import { EXIT, WaybillError } from '../model/errors.ts'
import { putAside as putAsideExport } from '../runs/put-aside.ts'
import { print } from './command-form.ts'
import type { Action } from './commands.ts'
import { personOf } from './run.ts'

/** @throws `usage-wrong` without a reason */
export const putAside: Action<'put-aside'> = async (context, { export: name, job, json, ...given }) => {
  const { by, reason, undo = false } = given
  if (reason === undefined && !undo)
    throw new WaybillError('usage-wrong', '--reason is missing: why may the export stay unread?')
  const person = personOf(context, { by, note: reason })
  const done = await putAsideExport(context, { name, job, undo }, person)
  print(context, json, { ...done, undo }, (one) =>
    undo
      ? `${one.export} of ${one.job} is read again by the next run.`
      : `${one.export} of ${one.job} is put aside: runs pass over it until its content changes.`,
  )
  return EXIT.ok
}
