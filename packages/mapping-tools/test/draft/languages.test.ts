import { describe, expect, test } from 'vitest'
import { draftedMapping, notes, rules } from './drafting.ts'

/** Rows of a table whose cells are told by the number of the row. */
const table = (header: string, row: (at: number) => readonly (string | number)[], rows = 12): string =>
  [header, ...Array.from({ length: rows }, (_, at) => row(at).join(','))].join('\n')
const born = (at: number): string => `${10 + at}.03.${1940 + at * 4}`
const seen = (at: number): string => `${10 + at}.02.2026`

test.each([
  [
    'German',
    'PatNr,Nachname,Vorname,Geburtsdatum,Geschlecht,PLZ,Untersuchungsdatum,Gewicht_kg,Größe_cm,Blutdruck (143/60),Puls,Gesamtcholesterin,HDL,LDL,Triglyceride,HbA1c,Glukose,Diabetes (ja/nein),Hausarzt',
    ['w', 'm', 'ja'],
    '{ w: FEMALE, m: MALE }',
  ],
  [
    'German without umlauts',
    'Patientennummer,Name,Vorname,Geb.-Datum,Geschlecht,Postleitzahl,Messdatum,Koerpergewicht (kg),Koerpergroesse (cm),RR,Herzfrequenz,Cholesterin gesamt,HDL-Cholesterin,LDL-Cholesterin,Triglyzeride,HbA1c (%),Blutzucker,Diabetes mellitus bekannt,Hausarzt',
    ['weiblich', 'männlich', 'Ja'],
    '{ weiblich: FEMALE, "männlich": MALE }',
  ],
  [
    'French',
    'Numéro patient,Nom,Prénom,Date de naissance,Sexe,Code postal,Date de prélèvement,Poids (kg),Taille (cm),Pression artérielle,Pouls,Cholestérol total,HDL cholestérol,LDL cholestérol,Triglycérides,Hémoglobine glyquée,Glycémie,Diabète,Médecin traitant',
    ['F', 'H', 'oui'],
    '{ F: FEMALE, H: MALE }',
  ],
  [
    'Spanish',
    'ID paciente,Apellidos,Nombre,Fecha de nacimiento,Sexo,Código postal,Fecha de visita,Peso (kg),Estatura (cm),Presión arterial,Pulso,Colesterol total,Colesterol HDL,Colesterol LDL,Triglicéridos,Hemoglobina glicosilada,Glucosa,Diabetes,Médico de cabecera',
    ['Mujer', 'Hombre', 'sí'],
    '{ Mujer: FEMALE, Hombre: MALE }',
  ],
  [
    'Portuguese',
    'ID do paciente,Sobrenome,Nome,Data de nascimento,Sexo,CEP,Data da coleta,Peso (kg),Altura (cm),Pressão arterial,Frequência cardíaca,Colesterol total,Colesterol HDL,Colesterol LDL,Triglicerídeos,Hemoglobina glicada,Glicose,Diabetes,Médico de família',
    ['Feminino', 'Masculino', 'Sim'],
    '{ Feminino: FEMALE, Masculino: MALE }',
  ],
])('headers in %s', (language, header, [female = '', male = '', yes = ''], genders) => {
  const { draft, text } = draftedMapping(
    table(header, (at) => [
      ...[4100 + at, 'Reed', 'Ann', born(at), at % 2 === 0 ? female : male, 10_100 + at, seen(at)],
      ...[60 + at, 160 + at, `${118 + at}/${70 + at}`, 60 + at, 180 + at, 50 + at, 110 + at, 90 + at],
      ...[5.1 + at / 10, 90 + at, at % 3 === 0 ? yes : 'no', 'Dr. Lee'],
    ]),
  )
  const [reference, last, first, dob, sex, postal, observed] = header.split(',')
  const written = (name = ''): string =>
    /^[\w .-]+$/.test(name) && !name.includes('.-') ? name : JSON.stringify(name)
  expect(text).toContain(`key: [${written(reference)}, ${written(observed)}]`)
  expect(text).toContain(`reference: ${written(reference)}\n`)
  expect(text).toContain(`firstName: ${written(first)}\n`)
  expect(text).toContain(`lastName: ${written(last)}\n`)
  expect(text).toContain(`dateOfBirth: { from: ${written(dob)}, format: dd.MM.yyyy }`)
  expect(text).toContain(`gender: { from: ${written(sex)}, table: ${genders} }\n`)
  expect(text).toContain(`postalCode: ${written(postal)}\n`)
  expect(text).toContain(`observedAt: { from: ${written(observed)}, format: dd.MM.yyyy, zone: UTC }`)
  const height = language === 'French' ? [] : ['body-height']
  expect(draft.found.toSorted()).toEqual(
    [
      ...['body-weight', ...height, 'systolic-bp', 'diastolic-bp', 'heart-rate', 'total-cholesterol'],
      ...['hdl-cholesterol', 'ldl-cholesterol', 'triglycerides', 'hba1c', 'glucose', 'diabetes'],
    ].sort(),
  )
})

test('what a word means in one language and not in another is asked about', () => {
  const taille = draftedMapping('id,Taille (cm)\n1,160\n2,172')
  expect(rules(taille)).toEqual([])
  expect(notes(taille)).toContain(
    'DECIDE: Taille is body-height or waist-circumference.'.replace('Taille', '"Taille (cm)"'),
  )
})

describe('genders', () => {
  const line = (...codes: readonly string[]): string =>
    draftedMapping(
      `id,first,last,dob,sex,zip,sbp\n${codes.map((code, at) => `${at},A,B,1980-01-31,${code},01001,118`).join('\n')}`,
    )
      .text.split('\n')
      .find((one) => one.includes('gender:'))
      ?.trim() ?? ''
  test.each([
    [['m', 'w', 'd'], 'table: { w: FEMALE, m: MALE } } # DECIDE: which gender is d?'],
    [['x', 'y'], 'table: {  } } # DECIDE: which gender is x, y?'],
    [['w', 'm', 'divers'], 'table: { w: FEMALE, m: MALE } } # DECIDE: which gender is 1 longer text?'],
    [['MALE', 'FEMALE'], 'table: { FEMALE: FEMALE, MALE: MALE } }'],
    [['M'], 'table: { F: FEMALE, M: MALE } }'],
    [
      ['H', 'M'],
      'table: { M: FEMALE, H: MALE } } # DECIDE: H and M are read as hombre and mujer; is this right?',
    ],
    [
      ['1', '2'],
      'table: { "1": MALE, "2": FEMALE } } # DECIDE: 1 is male and 2 female by ISO 5218; does the vendor use ISO 5218?',
    ],
  ])('%j', (codes, table) => {
    expect(line(...codes)).toBe(`gender: { from: sex, ${table}`)
  })
})
