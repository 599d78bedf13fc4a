/** Samples: exports that a person names to try a mapping. They are received like exports of a run: decrypted, unpacked, within the limits. */
import { resolve } from 'node:path'
import { WaybillError } from '../model/errors.ts'
import { type ReceivedExport, type SourceSettings, withPassingArrival } from '../run/arrival.ts'
import { ANY_RULES } from '../run/found-delivery.ts'
import { shellWord, shown } from '../system/shown-text.ts'

const MOST_NAMED = 5

/**
 * Receives a sample for the time of its use.
 * @param members pattern of file names in an archive; undefined: the archive holds a single file
 * @throws `usage-wrong` if several files match; as `Arrival.receive`; errors of `use`, with the address of the sample
 */
export async function withSample<Result>(
  settings: SourceSettings,
  path: string,
  members: string | undefined,
  use: (sample: ReceivedExport) => Promise<Result>,
): Promise<Result> {
  return withPassingArrival(settings, async (arrival) => {
    const rules = { ...ANY_RULES, members: members ?? ANY_RULES.members }
    const received = await arrival.receive(arrival.named(resolve(path), rules))
    const [sample] = received
    if (sample === undefined || received.length > 1) throw severalMeant(path, received)
    return use(sample).catch((error: unknown) => {
      throw atAddress(error, sample)
    })
  })
}

function severalMeant(path: string, received: readonly ReceivedExport[]): WaybillError {
  const names = received.map(({ name }) => name.split('!').at(-1) ?? name)
  const more = names.length - MOST_NAMED
  const named = names.slice(0, MOST_NAMED).map(shown).join(', ')
  return new WaybillError(
    'usage-wrong',
    `the archive holds ${names.length} files (${named}${more > 0 ? ` and ${more} more` : ''}), but only one can be read`,
    {
      place: { file: path },
      remedy: `Choose one: --members ${shellWord(names[0] ?? '')}`,
    },
  )
}

/** Replaces the path of an unpacked file, soon removed. */
function atAddress(error: unknown, { file, address }: ReceivedExport): unknown {
  if (!(error instanceof WaybillError) || file === address || error.place?.file !== file) return error
  const { code, message, place, findings, remedy } = error
  return new WaybillError(code, message, {
    place: { ...place, file: address },
    findings,
    remedy,
    cause: error,
  })
}
