/** Reads the project's pages: headings, tables, code. */
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export const PROJECT = resolve(import.meta.dirname, '../..')

/** Every Markdown page, relative to the project. */
export const PAGES: readonly string[] = globSync(
  ['*.md', 'docs/**/*.md', 'packages/*/*.md', 'samples/*.md'],
  {
    cwd: PROJECT,
  },
).sort()

export const page = (path: string): string => readFileSync(join(PROJECT, path), 'utf8')

/** Heading → text below it, up to the next heading of that level or above. */
export function sections(text: string, level: number): Map<string, string> {
  const found = new Map<string, string>()
  let current: string | undefined
  for (const line of text.split('\n')) {
    const heading = /^(#+) (.*)$/.exec(line)
    if (heading !== null && (heading[1]?.length ?? 0) <= level) {
      current = heading[1]?.length === level ? heading[2] : undefined
      if (current !== undefined) found.set(current, '')
    } else if (current !== undefined) found.set(current, `${found.get(current) ?? ''}${line}\n`)
  }
  return found
}

/** Cells of every table row in the text, without head and rule. A bar within a cell is written `\|`. */
export function tableRows(text: string): string[][] {
  const lines = text.split('\n')
  return lines.flatMap((line, at) => {
    if (!line.startsWith('|') || line.startsWith('|--') || lines[at + 1]?.startsWith('|--')) return []
    return [
      line
        .slice(1, -1)
        .split(/(?<!\\)\|/)
        .map((cell) => cell.trim()),
    ]
  })
}

/** The first cell's code (`x` of "`x`"), for rows that begin with code alone. */
export function codeRows(text: string): string[] {
  return tableRows(text).flatMap(([first = '']) => /^`([^`]+)`$/.exec(first)?.[1] ?? [])
}

/** Text of every fenced block of a language. */
export function blocks(text: string, language: string): string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'gms'))].map(
    ([, body = '']) => body,
  )
}
