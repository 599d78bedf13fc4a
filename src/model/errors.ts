/**
 * Every failure that stops something: a stable code, what was found, where, and what to do next.
 * Problems of a single row or record are not errors but issues (`src/model/record.ts`): they are counted, not thrown.
 * No message holds health data: it names files, lines, columns and keys, never a cell's content.
 */

/** Exit codes of the command line (docs/cli.md). */
export const EXIT = {
  ok: 0,
  recordsLeftBehind: 1,
  wrongUse: 2,
  gatewayUnavailable: 3,
  stoppedByThreshold: 4,
  jobHeld: 5,
  /** All is collected, and where it is to go does not take it. */
  notDelivered: 6,
  /** A defect of Waybill itself: EX_SOFTWARE of sysexits.h. */
  defect: 70,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/**
 * Each code with the exit code it leads to and the remedy shown when the place that throws has no better one. `ofExport`: the export alone is
 * at fault, and the run goes on with the others. `{again}` in a remedy stands for how the run is begun again.
 */
export const ERROR_CODES = {
  'usage-wrong': {
    exit: EXIT.wrongUse,
    remedy: 'Run the command with --help to see its form and an example.',
  },
  'settings-invalid': {
    exit: EXIT.wrongUse,
    remedy: 'Correct the settings named above (environment or .env file).',
  },
  'file-untrusted': {
    exit: EXIT.wrongUse,
    remedy: 'Take the right to write from other users: docs/deploy.md, "Who may write".',
  },
  'job-not-found': { exit: EXIT.wrongUse, remedy: 'Check the name against the files in the jobs folder.' },
  'job-invalid': { exit: EXIT.wrongUse, remedy: 'Correct the job file at the lines named above.' },
  'mapping-not-found': {
    exit: EXIT.wrongUse,
    remedy: 'Check the name against the files in the mappings folder.',
  },
  'mapping-invalid': {
    exit: EXIT.wrongUse,
    remedy: 'Correct the mapping at the lines named above, then run `waybill mapping check`.',
  },
  'cases-not-found': {
    exit: EXIT.wrongUse,
    remedy:
      'Write the first case: a name and an input; `waybill mapping test --update` adds what comes out. See docs/mapping.md, "Cases".',
  },
  'cases-invalid': { exit: EXIT.wrongUse, remedy: 'Correct the cases at the lines named above.' },
  'catalog-invalid': { exit: EXIT.wrongUse, remedy: 'Correct the catalog file at the lines named above.' },
  'exports-none': {
    exit: EXIT.wrongUse,
    remedy:
      'Where nothing has arrived, ask the vendor. Else check the folder and the pattern of the job, or name a file with --file.',
  },
  'export-unreadable': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Check that the file exists, is complete and may be read by this user.',
  },
  'export-empty': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Ask the vendor for the file again: it holds no rows.',
  },
  'export-changed': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'The file changed while it was read. {Again} once the delivery is complete.',
  },
  'export-not-as-announced': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Ask the vendor to deliver the export and its checksum or manifest again.',
  },
  'export-cut': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Ask the vendor for the whole file; if it is whole as it is, take it once with --accept-end.',
  },
  'export-drifted': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Ask the vendor what has changed; if it is right, take it once with --accept-drift.',
  },
  'export-too-large': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy:
      'Where the file is right, raise `limits` of this source in the job file; else it is a decompression bomb.',
  },
  'export-untrusted': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Check with the vendor who encrypted and signed the file, and with which key.',
  },
  'export-refused': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy:
      'Nothing of it was read. Ask the vendor to deliver a plain file, under a name without control characters or folders.',
  },
  'export-join-missing': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Put the file that the mapping joins beside the export, or correct the name pattern of the join.',
  },
  'export-join-unusable': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Correct the joined file, or the key of the join in the mapping.',
  },
  'source-unreachable': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Check address, network and credentials of the source, then {again}.',
  },
  'source-untrusted': {
    exit: EXIT.wrongUse,
    remedy:
      'Ask the operator of the server whether its key was changed before you write the new one into the job.',
  },
  'columns-missing': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Correct the column names in the mapping, or ask the vendor why the columns are gone.',
  },
  'export-gone': {
    exit: EXIT.wrongUse,
    remedy: 'Put the file back, or correct the rejects file of the run and run that with --file.',
  },
  'run-unfinished': { exit: EXIT.wrongUse, remedy: 'Finish it first: run its job.' },
  'given-up': {
    exit: EXIT.wrongUse,
    remedy:
      'Run the job: what is in its place now is read, and looked for in the profiles before anything is sent.',
  },
  'gateway-not-set': {
    exit: EXIT.wrongUse,
    remedy:
      'Set WAYBILL_GATEWAY_URL, or write `gateway: https://…` into the job. For a trial with invented data, either may be built-in.',
  },
  'gateway-differs': {
    exit: EXIT.wrongUse,
    remedy: 'Set WAYBILL_GATEWAY_URL to the gateway that the run went to.',
  },
  'nothing-left': { exit: EXIT.wrongUse, remedy: 'See what became of the run with `waybill show RUN`.' },
  'run-not-found': { exit: EXIT.wrongUse, remedy: 'List the runs with `waybill runs`.' },
  'run-pruned': {
    exit: EXIT.wrongUse,
    remedy:
      'What it delivered is recognised still, and its balance is shown by `waybill show`. For more, look into a backup of the ledger from before.',
  },
  'transaction-not-found': {
    exit: EXIT.wrongUse,
    remedy: 'Check the id, and that WAYBILL_HOME is the home that sent it.',
  },
  'log-not-found': {
    exit: EXIT.wrongUse,
    remedy: 'Set WAYBILL_LOG_FILE where jobs are run: what is logged from then on can be looked up.',
  },
  'ledger-not-found': {
    exit: EXIT.wrongUse,
    remedy:
      'Go to the folder where jobs are run, or set WAYBILL_HOME to its home. Where nothing was run yet: `waybill run JOB`.',
  },
  'ledger-missing': {
    exit: EXIT.wrongUse,
    remedy:
      'To put a backup of the ledger back: `waybill restore FILE`. Without a backup: `waybill run JOB --look-first` begins a new ledger and reads profiles before it sends. Where nothing was ever delivered from here: `waybill run JOB --new-ledger`.',
  },
  'key-differs': {
    exit: EXIT.wrongUse,
    remedy:
      'Put the old key back: the file `key` in the home, or WAYBILL_KEY. To go on with this key: `waybill run JOB --new-key` reads profiles before it sends.',
  },
  'backup-unusable': {
    exit: EXIT.wrongUse,
    remedy: 'The home is as it was. Restore another backup, an older one if need be.',
  },
  'ledger-newer': {
    exit: EXIT.wrongUse,
    remedy: 'Install the version of Waybill that wrote this ledger, or a newer one.',
  },
  'ledger-older': {
    exit: EXIT.wrongUse,
    remedy:
      'Use the version of Waybill that wrote this ledger; or move ledger.sqlite away and run each job with --look-first: it reads profiles before it sends.',
  },
  'ledger-unusable': {
    exit: EXIT.wrongUse,
    remedy: 'Check that WAYBILL_HOME exists, may be written, and is on a disk with free space.',
  },
  'home-unusable': {
    exit: EXIT.wrongUse,
    remedy:
      'Check that the file may be written and that its disk has free space, then {again}: it goes on where it stopped.',
  },
  'target-unusable': {
    exit: EXIT.wrongUse,
    remedy:
      'Check that the folder of `to` may be written and that its disk has free space, then {again}: it goes on where it stopped.',
  },
  'collection-not-delivered': {
    exit: EXIT.notDelivered,
    remedy:
      'Check address, network, credentials and rights of `to`, and the room there, then {again}: what was collected is delivered, and nobody is asked again.',
  },
  'collection-lost': {
    exit: EXIT.wrongUse,
    remedy:
      'Give the run up with `waybill resolve RUN --give-up`, and run the job anew: nothing at the gateway has changed.',
  },
  'disk-full': {
    exit: EXIT.wrongUse,
    remedy:
      'Make room: `waybill prune --older-than 180d` removes what old runs keep, also on a full disk. Then {again}: it goes on where it stopped.',
  },
  'files-exhausted': {
    exit: EXIT.wrongUse,
    remedy:
      'Raise the limit of open files (`ulimit -n`, or LimitNOFILE= in the systemd unit), or end what holds them open. Then {again}: it goes on where it stopped.',
  },
  'lease-lost': { exit: EXIT.jobHeld, remedy: 'Another process took this run over. See `waybill runs`.' },
  'job-held': {
    exit: EXIT.jobHeld,
    remedy:
      'Wait for the other run to end: `waybill runs` says how far it is, and whether it waits for the gateway. Or stop it with `waybill stop RUN`: the next run of the job goes on with it.',
  },
  'gateway-unreachable': {
    exit: EXIT.gatewayUnavailable,
    remedy: 'Check WAYBILL_GATEWAY_URL and the network, then {again}: it goes on where it stopped.',
  },
  'gateway-failing': {
    exit: EXIT.gatewayUnavailable,
    remedy:
      'The gateway answers, but not as it should: ask who runs it. Then {again}: it goes on where it stopped.',
  },
  'gateway-refused-credentials': {
    exit: EXIT.gatewayUnavailable,
    remedy: 'Replace the key or token that is refused, then {again}: it goes on where it stopped.',
  },
  'gateway-redirects': {
    exit: EXIT.gatewayUnavailable,
    remedy:
      'Set WAYBILL_GATEWAY_URL to the address that the gateway itself answers on; redirects are never followed.',
  },
  'threshold-passed': {
    exit: EXIT.stoppedByThreshold,
    remedy: 'Look at the rejects file, correct the mapping or the export, then {again}.',
  },
  'state-illegal': {
    exit: EXIT.defect,
    remedy: 'This is a defect of Waybill. Keep the ledger as it is and report it.',
  },
  'not-balanced': {
    exit: EXIT.defect,
    remedy: 'This is a defect of Waybill. Keep the ledger as it is and report it.',
  },
  'gave-way': {
    exit: EXIT.interrupted,
    remedy: 'Type the command of the run again: it goes on where it stopped.',
  },
  'asked-to-stop': { exit: EXIT.interrupted, remedy: '{Again}: it goes on where it stopped.' },
  interrupted: { exit: EXIT.interrupted, remedy: '{Again}: it goes on where it stopped.' },
} as const satisfies Record<string, { exit: ExitCode; remedy: string; ofExport?: true }>

export type ErrorCode = keyof typeof ERROR_CODES

/** A problem of one export, told apart from what stops the run. */
export const isExportProblem = (error: unknown): error is WaybillError =>
  error instanceof WaybillError && 'ofExport' in ERROR_CODES[error.code]

/** What ended a command, a run or a fire: of an error that nobody foresaw, that it is a defect of Waybill. */
export interface Ending {
  readonly code: ErrorCode | 'unexpected'
  readonly exit: ExitCode
}

/** The one way from an error to its exit code. */
export function endingOf(error: unknown): Ending {
  const code = error instanceof WaybillError ? error.code : 'unexpected'
  return { code, exit: exitOfCode(code) }
}

/** Of an error of which only the code is known, as the ledger keeps it. */
export function exitOfCode(code: string): ExitCode {
  return Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].exit ?? EXIT.defect
}

/**
 * What to do about an error of which only the code is known, as the ledger keeps it; undefined for a code of another version.
 * @param typed the command that begins the run again, where another one does than `waybill run`
 */
export function remedyOf(code: string, typed?: string): string | undefined {
  const remedy = Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].remedy
  const again = typed === undefined ? 'un the job again' : `ype \`${typed}\` again`
  const [first, capital] = typed === undefined ? ['r', 'R'] : ['t', 'T']
  return remedy?.replace('{again}', `${first}${again}`).replace('{Again}', `${capital}${again}`)
}

/** The error, with a remedy for a run that another command than `waybill run` begins again. */
export function typedAgain(error: WaybillError, typed: string): WaybillError {
  if (error.remedy !== remedyOf(error.code)) return error
  return withRemedy(error, remedyOf(error.code, typed) ?? error.remedy)
}

export function withRemedy(error: WaybillError, remedy: string): WaybillError {
  const { code, message, place, findings } = error
  return new WaybillError(code, message, {
    ...{ findings, remedy, cause: error },
    ...(place === undefined ? {} : { place }),
  })
}

/** Where a problem was found. Lines and columns count from 1. */
export interface Place {
  readonly file?: string
  readonly line?: number
  readonly column?: number
  /** Path of the key in a YAML file (`biometrics.hba1c.unit`), or the name of a setting. */
  readonly key?: string
}

/** One finding in a file or in the settings; several are reported together. */
export interface Finding {
  readonly place: Place
  readonly message: string
}

/** `file:line:column key`, as far as known. */
export function describePlace(place: Place): string {
  const position = [place.file, place.line, place.column].filter((part) => part !== undefined).join(':')
  return [position, place.key].filter((part) => part !== undefined && part !== '').join(' ')
}

export interface ErrorDetails {
  readonly place?: Place
  readonly findings?: readonly Finding[]
  readonly remedy?: string
  readonly cause?: unknown
}

/** The one error class of Waybill. `code` is stable; `message` says what was found; `remedy` says what to do. */
export class WaybillError extends Error {
  override readonly name = 'WaybillError'
  readonly code: ErrorCode
  readonly place: Place | undefined
  readonly findings: readonly Finding[]
  readonly remedy: string
  readonly exit: ExitCode

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause })
    this.code = code
    this.place = details.place
    this.findings = details.findings ?? []
    this.remedy = details.remedy ?? remedyOf(code) ?? ''
    this.exit = ERROR_CODES[code].exit
  }
}

/** What the operating system says where a process, or the whole machine, may open no more files (errno(3)). */
const EXHAUSTED: readonly unknown[] = ['EMFILE', 'ENFILE']

/**
 * `files-exhausted` for an error that is, or comes from, one of the operating system that says that no more files can be opened: whatever
 * was to be opened is not to blame. Undefined for any other.
 */
export function filesExhausted(error: unknown): WaybillError | undefined {
  for (let at = error; at instanceof Error; at = at.cause) {
    if (at instanceof WaybillError) {
      if (at.code === 'files-exhausted') return at
    } else if ('code' in at && EXHAUSTED.includes(at.code)) {
      const whose = at.code === 'EMFILE' ? 'this process' : 'this machine'
      return new WaybillError('files-exhausted', `${whose} may open no more files (${at.code})`, {
        cause: error,
      })
    }
  }
  return undefined
}

/** What whatever was thrown says of itself. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** An error that is not ours by its code, or its name: its words may hold what it was made of. */
export function codeOf(error: unknown): string {
  const { name, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { name: typeof error }
  const known = [code, name].find((text) => typeof text === 'string' && /^[A-Za-z][\w.-]{0,60}$/.test(text))
  return known ?? 'Error'
}

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])
/** sqlite.org/rescode.html#full */
const SQLITE_FULL = 13

/** Whether an error of the file system or of SQLite says that the disk, or what one may use of it, is full. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && FULL.has(error.code)) || ('errcode' in error && error.errcode === SQLITE_FULL))

/** Waits for all, then throws the first failure: nothing may still be under way when the caller goes on. */
export async function allDone<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(tasks)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}
