/** Which columns of a wide export say that somebody has a condition of the catalog. */
import type { Vocabulary } from './match-measurements.ts'
import type { ColumnProfile } from './profile-columns.ts'
import { type DraftLine, scalar } from './sample.ts'

/** Words around the name of a condition. */
const AROUND = new Set([
  ...['dx', 'diag', 'diagnosis', 'diagnosed', 'has', 'have', 'flag', 'ind', 'yn', 'is', 'diagnose', 'hat'],
  ...['bekannt', 'bekannte', 'bekannter', 'bekanntes', 'diagnostic', 'diagnostico', 'tiene', 'actuel'],
])
const HISTORY = new Set([
  ...['hx', 'history', 'past', 'prior', 'family', 'fam', 'fh', 'parent', 'familie', 'familien', 'vater'],
  ...['familienanamnese', 'anamnese', 'mutter', 'eltern', 'fruher', 'frueher', 'antecedent', 'antecedents'],
  ...['antecedente', 'antecedentes', 'familial', 'familiaux', 'familiar', 'familiares', 'ex'],
])
/** Words that `when` takes for its own. */
const WORDS_OF_WHEN = new Set(['any', 'all', 'not'])

export interface ConditionMatches {
  readonly lines: readonly DraftLine[]
  readonly found: readonly string[]
  readonly used: ReadonlySet<string>
}

export function matchConditions(
  { catalog, conditions }: Vocabulary,
  columns: readonly ColumnProfile[],
): ConditionMatches {
  const lines: DraftLine[] = []
  const found: string[] = []
  const used = new Set<string>()
  for (const column of columns) {
    const [key, another] = conditions.keysOf(column.words.filter((word) => !AROUND.has(word)))
    const history = column.words.some((word) => HISTORY.has(word))
    if (key === undefined || another !== undefined || history || WORDS_OF_WHEN.has(column.path)) continue
    const entry = catalog.conditions.get(key)
    if (entry === undefined) continue
    used.add(column.path)
    const rule = (yes: readonly string[]): string => {
      const words = yes.map((word) => JSON.stringify(word)).join(', ')
      return `${key}: { when: { ${scalar(column.path)}: [${words}] }, status: active }`
    }
    if (found.includes(key)) lines.push({ note: `${scalar(column.path)} says ${key}, too` })
    else if (column.yesNo === undefined)
      lines.push({
        note: `${scalar(column.path)}: ${column.distinct.size} texts that are not just yes and no. Which mean it? ${rule(['…'])}`,
      })
    else {
      lines.push({ yaml: rule(column.yesNo.yes) })
      found.push(key)
    }
  }
  return { lines, found, used }
}
