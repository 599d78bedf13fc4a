/** `waybill completion`: the script of a shell, and the candidates for it: commands, options, jobs, mappings, runs, exports. */
import type { Command, Option } from 'commander'
import { definitionsIn } from '../definitions/definition-files.ts'
import { EXIT, WaybillError } from '../model/errors.ts'
import { namesInLedger } from '../runs/known-names.ts'
import type { Action } from './commands.ts'

/** Script of each shell: calls `waybill complete` with the words so far, or completes files. bash, unlike zsh and fish, leaves quoting to the script. */
const SCRIPTS = {
  bash: `_waybill() {
  local one
  COMPREPLY=()
  while IFS= read -r one; do COMPREPLY+=("$(printf %q "$one")"); done < <(
    waybill complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null
  )
  if [ \${#COMPREPLY[@]} -eq 0 ]; then compopt -o default 2>/dev/null; fi
}
complete -F _waybill waybill
`,
  zsh: `#compdef waybill
_waybill() {
  local -a found
  found=(\${(f)"$(waybill complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( $#found )); then compadd -- $found; else _files; fi
}
compdef _waybill waybill
`,
  fish: `complete -c waybill -a '(waybill complete -- (commandline -opc)[2..] (commandline -ct))'
`,
} as const

const completion: Action<'completion'> = async (context, { shell }) => {
  const script = Object.entries(SCRIPTS).find(([name]) => name === shell)?.[1]
  if (script === undefined)
    throw new WaybillError('usage-wrong', `there is no completion for ${shell}`, {
      remedy: `Name one of these: ${Object.keys(SCRIPTS).join(', ')}.`,
    })
  context.out(script.trimEnd().split('\n'))
  return EXIT.ok
}

/** @param program command line to complete */
const complete =
  (program: Command): Action<'complete'> =>
  async (context, { words }) => {
    const { jobs, mappings } = context.settings
    const found = await candidates(program, words, {
      job: () => definitionsIn(jobs),
      mapping: () => definitionsIn(mappings),
      run: async () => ['latest', ...(await namesInLedger(context)).runs],
      export: async () => (await namesInLedger(context)).exports,
    })
    context.out(found)
    return EXIT.ok
  }

const TAKES_FILE = /<(path|file)\b/

/** Candidates for an argument, by its name in the help. */
type Known = Readonly<Record<string, () => Promise<readonly string[]>>>

/** @param words behind the name of the program; the last word is being typed, and may be empty */
async function candidates(program: Command, words: readonly string[], known: Known): Promise<string[]> {
  const before = words.slice(0, -1)
  const typed = words.at(-1) ?? ''
  let command = program
  let positional = 0
  let option: Option | undefined
  for (const word of before) {
    if (word.startsWith('-')) {
      option = command.options.find(({ long, short }) => word === long || word === short)
      continue
    }
    const isValue = option?.required === true
    option = undefined
    if (isValue) continue
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word))
    if (next === undefined) positional++
    else command = next
  }
  const all = await offered(command, positional, option?.required === true ? option : undefined, typed, known)
  return all.filter((one) => one.startsWith(typed)).sort()
}

async function offered(
  command: Command,
  positional: number,
  option: Option | undefined,
  typed: string,
  known: Known,
): Promise<readonly string[]> {
  // For a path the shell completes files.
  if (option !== undefined && TAKES_FILE.test(option.flags)) return []
  if (option !== undefined) return option.argChoices ?? (await known[option.name()]?.()) ?? []
  const help = command.createHelp()
  if (typed.startsWith('-')) return help.visibleOptions(command).flatMap(({ long }) => long ?? [])
  const subcommands = help.visibleCommands(command).map((one) => one.name())
  const wanted = command.registeredArguments
  const argument = wanted[positional] ?? wanted.findLast(({ variadic }) => variadic)
  return [...subcommands, ...((await known[argument?.name() ?? '']?.()) ?? [])]
}

export const actions = { completion, complete }
