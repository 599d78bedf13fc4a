/**
 * Errors that stop a command or a run: a stable code, the problem, the place and the next step.
 * Problems of a single row or record are issues (`src/model/record.ts`): counted, never thrown.
 * No message holds health data: a message names files, lines, columns and keys, never a cell's content.
 */

/** Exit codes of the command line (docs/cli.md). */
export const EXIT = {
  ok: 0,
  recordsLeftBehind: 1,
  wrongUse: 2,
  gatewayUnavailable: 3,
  stoppedByThreshold: 4,
  jobHeld: 5,
  /** All data is collected, and the target refuses delivery. */
  notDelivered: 6,
  /** A defect of Waybill itself: EX_SOFTWARE of sysexits.h. */
  defect: 70,
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/**
 * Exit code and default remedy of each error code. `ofExport`: only the export is at fault; the run continues with the next export.
 * In a remedy, `{again}` stands for the command that starts the run again.
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
  'role-missing': {
    exit: EXIT.wrongUse,
    remedy: 'Ask the person who keeps the settings of the console: docs/console.md, "Roles".',
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
      'If nothing has arrived, ask the vendor. Otherwise check folder and pattern of the job, or name a file with --file.',
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
    remedy: 'Ask the vendor for the whole file. If the file is complete, accept it once with --accept-end.',
  },
  'export-drifted': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy:
      'Ask the vendor about the changes. If they are intended, accept the export once with --accept-drift.',
  },
  'export-too-large': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy:
      'If the file is genuine, raise `limits` of this source in the job file. Otherwise it is a decompression bomb.',
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
      'The file was not read. Ask the vendor to deliver a plain file, under a name without control characters or folders.',
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
      'Before you write the new key into the job, ask the operator of the server whether the key has changed.',
  },
  'columns-missing': {
    exit: EXIT.wrongUse,
    ofExport: true,
    remedy: 'Correct the column names in the mapping, or ask the vendor why the columns are gone.',
  },
  'export-gone': {
    exit: EXIT.wrongUse,
    remedy: 'Put the file back, or correct the rejects file of the run and run it with --file.',
  },
  'run-unfinished': { exit: EXIT.wrongUse, remedy: 'Finish it first: run its job.' },
  'given-up': {
    exit: EXIT.wrongUse,
    remedy:
      'Run the job: it reads the current exports, and looks for their records in the profiles before it sends.',
  },
  'gateway-not-set': {
    exit: EXIT.wrongUse,
    remedy:
      'Set WAYBILL_GATEWAY_URL, or write `gateway: https://…` into the job. For a trial with invented data, either may be built-in.',
  },
  'gateway-differs': {
    exit: EXIT.wrongUse,
    remedy: 'Set WAYBILL_GATEWAY_URL to the gateway of the run.',
  },
  'nothing-left': { exit: EXIT.wrongUse, remedy: 'Look at the run: `waybill show RUN`.' },
  'run-not-found': { exit: EXIT.wrongUse, remedy: 'List the runs with `waybill runs`.' },
  'run-pruned': {
    exit: EXIT.wrongUse,
    remedy:
      'Its deliveries are still recognised, and `waybill show` has its balance. For details, use an older backup of the ledger.',
  },
  'transaction-not-found': {
    exit: EXIT.wrongUse,
    remedy: 'Check the id, and that WAYBILL_HOME is the home that sent it.',
  },
  'log-not-found': {
    exit: EXIT.wrongUse,
    remedy: 'Set WAYBILL_LOG_FILE where jobs run: the log of later runs can then be looked up.',
  },
  'ledger-not-found': {
    exit: EXIT.wrongUse,
    remedy:
      'Change to the folder where jobs run, or set WAYBILL_HOME. If no job has run yet: `waybill run JOB`.',
  },
  'ledger-missing': {
    exit: EXIT.wrongUse,
    remedy:
      'To restore a backup: `waybill restore FILE`, or the tools of the database server. Without a backup: `waybill run JOB --look-first` starts a new ledger and reads profiles before it sends. If this home has never delivered anything: `waybill run JOB --new-ledger`.',
  },
  'key-differs': {
    exit: EXIT.wrongUse,
    remedy:
      'Put the old key back: the file `key` in the home, or WAYBILL_KEY. Machines that share a ledger need the same key: set the key of the others. If the key is lost everywhere: `waybill run JOB --new-key` reads profiles before it sends.',
  },
  'home-differs': {
    exit: EXIT.wrongUse,
    remedy: 'Mount the folder that all machines share, and set WAYBILL_HOME to it.',
  },
  'backup-unusable': {
    exit: EXIT.wrongUse,
    remedy: 'The home is unchanged. Restore a different backup, an older one if necessary.',
  },
  'ledger-newer': {
    exit: EXIT.wrongUse,
    remedy: 'Install the version of Waybill that wrote this ledger, or a newer one.',
  },
  'ledger-moved': {
    exit: EXIT.wrongUse,
    remedy:
      'Set WAYBILL_LEDGER to that address. If the copy was interrupted, repeat `waybill ledger copy --to ADDRESS` with the same address.',
  },
  'copy-unfinished': {
    exit: EXIT.wrongUse,
    remedy: 'Repeat `waybill ledger copy --to ADDRESS` where the file is: the copy continues.',
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
    remedy: 'Check that the file may be written and that its disk has free space, then {again} to continue.',
  },
  'target-unusable': {
    exit: EXIT.wrongUse,
    remedy:
      'Check that the folder of `to` may be written and that its disk has free space, then {again} to continue.',
  },
  'collection-not-delivered': {
    exit: EXIT.notDelivered,
    remedy:
      'Check address, network, credentials, rights and free space of `to`, then {again}: it delivers the collected data without new requests.',
  },
  'collection-lost': {
    exit: EXIT.wrongUse,
    remedy:
      'Give the run up with `waybill resolve RUN --give-up`, and run the job again: nothing at the gateway has changed.',
  },
  'disk-full': {
    exit: EXIT.wrongUse,
    remedy:
      'Make room: `waybill prune --older-than 180d` removes the detail of old runs, even on a full disk. Then {again} to continue.',
  },
  'files-exhausted': {
    exit: EXIT.wrongUse,
    remedy:
      'Raise the limit of open files (`ulimit -n`, or LimitNOFILE= in the systemd unit), or end a process that holds many open. Then {again} to continue.',
  },
  'lease-lost': { exit: EXIT.jobHeld, remedy: 'Another process took this run over. See `waybill runs`.' },
  'job-held': {
    exit: EXIT.jobHeld,
    remedy:
      'Wait for the other run to end: `waybill runs` shows its progress, and whether it waits for the gateway. Or stop it with `waybill stop RUN`: the next run of the job resumes it.',
  },
  'gateway-unreachable': {
    exit: EXIT.gatewayUnavailable,
    remedy: 'Check WAYBILL_GATEWAY_URL and the network, then {again} to continue.',
  },
  'gateway-failing': {
    exit: EXIT.gatewayUnavailable,
    remedy: 'The gateway answers with errors: ask its operator. Then {again} to continue.',
  },
  'gateway-refused-credentials': {
    exit: EXIT.gatewayUnavailable,
    remedy: 'Replace the refused key or token, then {again} to continue.',
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
    remedy: 'Type the command of the run again to continue.',
  },
  'asked-to-stop': { exit: EXIT.interrupted, remedy: '{Again} to continue.' },
  interrupted: { exit: EXIT.interrupted, remedy: '{Again} to continue.' },
} as const satisfies Record<string, { exit: ExitCode; remedy: string; ofExport?: true }>

export type ErrorCode = keyof typeof ERROR_CODES

/** Distinguishes a problem of a single export from an error that stops the run. */
export const isExportProblem = (error: unknown): error is WaybillError =>
  error instanceof WaybillError && 'ofExport' in ERROR_CODES[error.code]

/** End of a command, a run or a fire. An unforeseen error is a defect of Waybill. */
interface Ending {
  readonly code: ErrorCode | 'unexpected'
  readonly exit: ExitCode
}

/** The only way from an error to an exit code. */
export function endingOf(error: unknown): Ending {
  const code = error instanceof WaybillError ? error.code : 'unexpected'
  return { code, exit: exitOfCode(code) }
}

/** Exit code for an error code from the ledger. */
export function exitOfCode(code: string): ExitCode {
  return Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].exit ?? EXIT.defect
}

/**
 * Remedy for an error code from the ledger; undefined for a code of another version.
 * @param typed the command that starts the run again, if not `waybill run`
 */
export function remedyOf(code: string, typed?: string): string | undefined {
  const remedy = Object.entries(ERROR_CODES).find(([known]) => known === code)?.[1].remedy
  const again = typed === undefined ? 'un the job again' : `ype \`${typed}\` again`
  const [first, capital] = typed === undefined ? ['r', 'R'] : ['t', 'T']
  return remedy?.replace('{again}', `${first}${again}`).replace('{Again}', `${capital}${again}`)
}

/** Returns the error with a remedy for a run that a command other than `waybill run` starts again. */
export function typedAgain(error: WaybillError, typed: string): WaybillError {
  if (error.remedy !== remedyOf(error.code)) return error
  return withRemedy(error, remedyOf(error.code, typed) ?? error.remedy)
}

export function withRemedy(error: WaybillError, remedy: string): WaybillError {
  const { code, message, place, findings } = error
  return new WaybillError(code, message, {
    findings,
    remedy,
    cause: error,
    ...(place === undefined ? {} : { place }),
  })
}

/** Place of a problem. Lines and columns count from 1. */
export interface Place {
  readonly file?: string
  readonly line?: number
  readonly column?: number
  /** Path of the key in a YAML file (`biometrics.hba1c.unit`), or the name of a setting. */
  readonly key?: string
}

/** A finding in a file or in the settings; one error can hold several. */
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

/** The only error class of Waybill. `code` is stable; `message` states the problem; `remedy` states the next step. */
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

/** Error codes of the operating system if a process, or the whole machine, may open no more files (errno(3)). */
const EXHAUSTED: readonly unknown[] = ['EMFILE', 'ENFILE']

/**
 * Returns `files-exhausted` if the error, or any of its causes, says that no more files can be opened: the file in question is not to
 * blame. Undefined for any other error.
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

/** Message of any thrown value. */
export const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message : String(cause))

/** Code or name of a foreign error. Its message may hold data of the input. */
export function codeOf(error: unknown): string {
  const { name, code } = error instanceof Error ? (error as NodeJS.ErrnoException) : { name: typeof error }
  const known = [code, name].find((text) => typeof text === 'string' && /^[A-Za-z][\w.-]{0,60}$/.test(text))
  return known ?? 'Error'
}

const FULL: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT'])
/** sqlite.org/rescode.html#full */
const SQLITE_FULL = 13

/** Recognises an error of the file system or of SQLite for a full disk or an exhausted quota. */
export const isDiskFull = (error: unknown): boolean =>
  error instanceof Error &&
  (('code' in error && FULL.has(error.code)) || ('errcode' in error && error.errcode === SQLITE_FULL))

/** Waits for all tasks, then throws the first failure: no task is still running when the caller continues. */
export async function allDone<T>(tasks: readonly Promise<T>[]): Promise<T[]> {
  const results = await Promise.allSettled(tasks)
  const failure = results.find((result) => result.status === 'rejected')
  if (failure) throw failure.reason
  return results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
}

/** A field `error`; an empty object for none. */
export function errorAsJson(error: WaybillError | undefined): object {
  if (error === undefined) return {}
  const { code, message, place, findings, remedy } = error
  return { error: { code, message, place, findings, remedy } }
}
