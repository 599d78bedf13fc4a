/** `waybill init`: makes a folder in which the sample job runs. */
import { EXIT } from '../model/errors.ts'
import { beginFolder } from '../runs/init.ts'
import { shellPath, shownPath } from '../shown-text.ts'
import type { Action } from './context.ts'

export const init: Action<{ readonly folder: string; readonly json?: true }> = async (
  context,
  { folder = '.', json },
) => {
  const begun = await beginFolder(folder)
  if (json) {
    context.out(JSON.stringify(begun))
    return EXIT.ok
  }
  const { written, kept } = begun
  const where = shownPath(begun.folder)
  context.out([
    ...written.map((name) => `Wrote    ${name}`),
    ...kept.map((name) => `Kept     ${name}: it is there already`),
    '',
    'Next',
    ...(where === '' ? [] : [`  cd ${shellPath(begun.folder)}`]),
    '  waybill run nightly-screenings --dry-run    # counts; sends nothing',
    '  waybill run nightly-screenings              # to the built-in gateway, a stand-in on this machine',
    '  waybill mapping init EXPORT --name NAME     # a mapping of your own',
  ])
  return EXIT.ok
}
