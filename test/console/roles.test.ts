/** Roles of a person whom a proxy names. */
import { expect, test } from 'vitest'
import { proxyLogin } from '../../src/console/logins.ts'

const SECRET = 'a secret of the proxy'
const LISTS = {
  viewer: ['night-shift', 'vera'],
  operator: ['operators', 'olga'],
  'health-data': ['privacy'],
} as const

const rolesOf = (user: string, groups: string, isReadOnly: boolean, lists = LISTS) => {
  const headers = { 'x-waybill-secret': SECRET, 'x-forwarded-user': user, 'x-forwarded-groups': groups }
  const person = proxyLogin(SECRET, lists, isReadOnly)({ headers })
  return person && [person.name, ...[...person.roles].toSorted()].join(' ')
}

test.each([
  // User, groups, roles, roles where the console is read-only.
  ['vera', '', 'vera viewer', 'vera viewer'],
  ['olga', '', 'olga operator viewer', 'olga viewer'],
  ['nina', 'guests', 'nina', 'nina'],
  ['nina', 'night-shift', 'nina viewer', 'nina viewer'],
  ['nina', 'guests, operators', 'nina operator viewer', 'nina viewer'],
  ['nina', ' operators ,privacy', 'nina health-data operator viewer', 'nina viewer'],
  ['nina', 'privacy', 'nina health-data', 'nina'],
  ['nina', ',,', 'nina', 'nina'],
  [' vera ', '', 'vera viewer', 'vera viewer'],
  ['vera,olga', '', undefined, undefined],
  [' ', 'operators', undefined, undefined],
])('user "%s" with groups "%s" is %s; of a read-only console, %s', (user, groups, roles, readOnly) => {
  expect([rolesOf(user, groups, false), rolesOf(user, groups, true)]).toEqual([roles, readOnly])
})

test('a star stands for everybody with a login, by role', () => {
  const lists = { viewer: ['*'], operator: [], 'health-data': [] } as unknown as typeof LISTS
  expect(rolesOf('nina', '', false, lists)).toBe('nina viewer')
  const all = { viewer: [], operator: ['*'], 'health-data': [] } as unknown as typeof LISTS
  expect([rolesOf('nina', '', false, all), rolesOf('nina', '', true, all)]).toEqual([
    'nina operator viewer',
    'nina viewer',
  ])
})
