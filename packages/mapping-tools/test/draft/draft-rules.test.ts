import { describe, expect, test } from 'vitest'
import type { JsonValue } from '../../../../src/model/row.ts'
import { draftedJson, draftedMapping, NHANES_LIKE, notes, rules } from './drafting.ts'

/** A table of one column beside the person's id. */
const column = (name: string, ...cells: readonly string[]) =>
  draftedMapping(`id,${name}\n${cells.map((cell, at) => `${at + 1},${cell}`).join('\n')}`)

describe('measurements of a wide table', () => {
  test.each([
    ['BPXSY1', ['118', '131'], 'systolic-bp: BPXSY1'],
    ['sys_bp', ['118', '131'], 'systolic-bp: sys_bp'],
    ['BPSys', ['118', '131'], 'systolic-bp: BPSys'],
    ['Diastolic Blood Pressure', ['76', '80'], 'diastolic-bp: Diastolic Blood Pressure'],
    ['weight_lb', ['180', '150'], 'body-weight: { from: weight_lb, unit: lb }'],
    ['WT (kg)', ['80', '70'], 'body-weight: "WT (kg)"'],
    ['height_in', ['63.9', '70'], 'body-height: { from: height_in, unit: in }'],
    ['Glucose (mg/dL)', ['90', '101'], 'glucose: "Glucose (mg/dL)"'],
    ['glucose_mmol', ['5.0', '6.1'], 'glucose: { from: glucose_mmol, unit: mmol/L }'],
    ['temp_f', ['98.6', '99.1'], 'body-temperature: { from: temp_f, unit: "[degF]" }'],
    ['chol', ['5.2', '4.1'], 'total-cholesterol: { from: chol, unit: mmol/L }'],
    ['chol', ['200', '180'], 'total-cholesterol: chol'],
    ['weight', ['180', '165'], 'body-weight: { from: weight, unit: lb }'],
    ['LOINC 4548-4', ['5.1', '6.0'], 'hba1c: LOINC 4548-4'],
    ['LOINC 14749-6', ['5.1', '6.0'], 'glucose: { from: LOINC 14749-6, unit: mmol/L }'],
    ['height', ["5'11", "6'0"], 'body-height: { from: height, form: feet-and-inches }'],
  ])('%s with %j', (name, cells, rule) => {
    expect(rules(column(name, ...cells))).toEqual([rule])
  })

  // Numbers that read well in several units, and a share that reads well as a concentration.
  test.each([
    ['HDL %', ['25', '28'], [], 'most values are implausible in %'],
    ['BMI %', ['55', '65'], [], 'most values are implausible in %'],
    ['% HDL', ['25', '28'], [], 'with unknown words'],
    ['HbA1c %', ['5.5', '6.0'], ['hba1c: "HbA1c %"'], undefined],
    ['% Body Fat', ['25', '28'], ['body-fat: "% Body Fat"'], undefined],
    ['Lp(a)', ['75', '30'], ['lipoprotein-a: "Lp(a)"'], 'mg/dL, or nmol/L'],
    ['Lp(a) (mg/dL)', ['75', '30'], ['lipoprotein-a: "Lp(a) (mg/dL)"'], undefined],
    ['Insulin', ['60', '50'], ['insulin: Insulin'], 'pmol/L'],
    ['ACR', ['3', '2.1'], ['albumin-creatinine-ratio: ACR'], 'mg/mmol'],
    ['vitamin_d', ['30', '35'], ['vitamin-d: vitamin_d'], 'ng/mL or nmol/L'],
    ['vitamin_d', ['75', '80'], ['vitamin-d: { from: vitamin_d, unit: nmol/L }'], 'ng/mL or nmol/L'],
    ['hs-CRP', ['1.1', '2.1'], ['c-reactive-protein-hs: hs-CRP'], 'mg/L or mg/dL'],
    ['hs-CRP', ['0.1', '0.2'], ['c-reactive-protein-hs: { from: hs-CRP, unit: mg/dL }'], 'mg/L or mg/dL'],
  ])('%s with %j is %j, and asks %s', (name, cells, written, question) => {
    const drafted = column(name, ...cells)
    expect(rules(drafted)).toEqual(written)
    const asked = drafted.draft.biometrics.flatMap(({ note }) => note ?? [])
    expect(asked).toEqual(question === undefined ? [] : [expect.stringContaining(question)])
  })

  test.each([
    ['glu', ['Y', 'N']],
    ['site', ['1', '2']],
    ['sbp', ['high', 'low']],
    ['hba1c', ['39', '41']],
    ['temp', ['1', '0']],
    ['weight_category', ['80', '90']],
    ['family_hx_diabetes', ['Y', 'N']],
    ['4548-5', ['5.1', '6.0']],
  ])('%s with %j is no rule', (name, cells) => {
    expect(rules(column(name, ...cells))).toEqual([])
  })

  test.each([
    ['Glucose (fasting)', ['90', '101'], 'glucose-fasting: Glucose (fasting)'],
    ['LDL (direct)', ['90', '101'], 'ldl-cholesterol-direct: LDL (direct)'],
    ['LDL measured', ['90', '101'], 'ldl-cholesterol-direct: LDL measured'],
    ['BP (systolic)', ['118', '131'], 'systolic-bp: BP (systolic)'],
    ['Hemoglobin A1c (HbA1c)', ['5.1', '6.0'], 'hba1c: Hemoglobin A1c (HbA1c)'],
    ['Potassium (K)', ['4.1', '4.6'], 'potassium: Potassium (K)'],
    ['Glucose (mg/dL; fasting)', ['90', '101'], 'glucose-fasting: Glucose (mg/dL; fasting)'],
    ['Weight (kg) (measured)', ['80', '70'], 'body-weight: Weight (kg) (measured)'],
    ['Diabetes (Y/N)', ['Y', 'N'], 'diabetes: { when: { Diabetes (Y/N): ["Y"] }, status: active }'],
    [
      'Diabetes (type 2)',
      ['Y', 'N'],
      'type-2-diabetes: { when: { Diabetes (type 2): ["Y"] }, status: active }',
    ],
  ])('%s with %j is understood', (name, cells, rule) => {
    expect(rules(column(name, ...cells)).map((text) => text.replaceAll(`"${name}"`, name))).toEqual([rule])
  })

  test.each([
    ['Chol/HDL', 'cholesterol-hdl-ratio: Chol/HDL'],
    ['CHOL:HDLC', 'cholesterol-hdl-ratio: "CHOL:HDLC"'],
    ['Total Cholesterol / HDL', 'cholesterol-hdl-ratio: "Total Cholesterol / HDL"'],
    // Two names of one measurement are no ratio.
    ['ALT/SGPT', undefined],
    ['HDL/Chol', undefined],
    ['LDL/HDL', undefined],
    ['Trig/HDL', undefined],
  ])('%s is a ratio, or asked about', (name, rule) => {
    const drafted = column(name, '3.5', '4.1')
    const written = rules(drafted)
    if (name === 'ALT/SGPT') expect(written.join()).not.toContain('ratio')
    else if (rule === undefined) {
      expect(written).toEqual([])
      expect(notes(drafted).join()).toContain('DECIDE')
    } else expect(written).toEqual([rule])
  })

  test.each([
    ['120/80', '118/77', 'by: /', '', undefined],
    ['120x80', '118 x 77', 'by: "x"', '', 'is it systolic x diastolic?'],
    ['120-80', '118-77', 'by: "-"', '', 'is it systolic - diastolic?'],
    ['13/8', '12.5/7', 'by: /', ', unit: "cm[Hg]"', 'cm[Hg], tens of mm[Hg]; is this right?'],
  ])('both pressures in one column as %s', (one, other, by, unit, asked) => {
    const drafted = column('bp', one, other)
    expect(rules(drafted)).toEqual([
      `systolic-bp: { from: bp, split: { ${by}, take: 1 }${unit} }`,
      `diastolic-bp: { from: bp, split: { ${by}, take: 2 }${unit} }`,
    ])
    if (asked === undefined) expect(notes(drafted).join()).not.toContain('DECIDE: is it')
    else expect(notes(drafted).join()).toContain(asked)
  })

  test('pressures in several forms are asked about, and are no rule', () => {
    for (const cells of [
      ['120/80', '118x77'],
      ['120/80', '13/8'],
    ]) {
      const drafted = column('bp', ...cells)
      expect(rules(drafted)).toEqual([])
      expect(notes(drafted).join()).toContain('in several forms')
    }
  })

  test('ids that look like codes of diagnoses are those of persons, by their heading', () => {
    const ids = ['E119', 'E780', 'I10', 'E669']
    for (const name of ['Employee', 'member_id', 'MRN', 'Patient ID']) {
      const { draft, text } = draftedMapping(
        `${name},date,dx\n${ids.map((id) => `${id},2026-01-02,I10`).join('\n')}`,
      )
      expect(text).toContain(`reference: ${name}\n`)
      expect(draft.conditions.map(({ yaml }) => yaml)).toContain(
        '- code: { from: dx, system: ICD-10-CM, unknown: skip }',
      )
    }
  })

  test.each([
    ...['Weight (goal)', 'A1c (prior year)', 'Height (father)', 'Cholesterol (target)', 'Goal weight'],
    ...['Father height', 'prior_a1c', 'Glucose 2h', 'Sodium (urine)', 'weight_2'],
  ])('%s is asked about, and is no rule', (name) => {
    const drafted = column(name, '118', '131')
    expect(rules(drafted)).toEqual([])
    expect(notes(drafted).join('\n')).toMatch(/DECIDE: .*(unknown words|later reading)/)
  })

  test.each(['Diabetes (mother)', 'Diabetes (m)', 'family_history_diabetes', 'former smoker', 'No diabetes'])(
    '%s is asked about, and is no condition',
    (name) => {
      const drafted = column(name, 'Y', 'N')
      expect(rules(drafted)).toEqual([])
      expect(notes(drafted).join('\n')).toMatch(/DECIDE: .*unknown words/)
    },
  )

  test('a text in brackets does not go by for that of the person either', () => {
    expect(draftedMapping('id,DOB (mother),sbp\n1,1951-01-02,118\n2,1948-05-06,120').draft.persons.size).toBe(
      1,
    )
  })

  test('a second name in brackets is understood', () => {
    const { draft, text } = draftedMapping(
      'Patient ID (MRN),Date of Birth (DOB),sbp\n1,1951-01-02,118\n2,1948-05-06,120',
    )
    expect([...draft.persons.values()]).toContain('dateOfBirth')
    expect(text).toMatch(/reference: "Patient ID \(MRN\)"$/m)
  })

  test('a column of units beside one of values tells the unit of each row', () => {
    expect(rules(draftedMapping('id,glu,glu_units\n1,90,mg/dL\n2,5.1,mmol/L\n3,5.9,mmol/L'))).toEqual([
      'glucose: { from: glu, unit: { from: glu_units } }',
    ])
    const behind = draftedMapping('id,weight,uom,hdl,uom_2\n1,80,kg,50,mg/dL\n2,180,lb,1.3,mmol/L')
    expect(rules(behind)).toEqual([
      'body-weight: { from: weight, unit: { from: uom } }',
      'hdl-cholesterol: { from: hdl, unit: { from: uom_2 } }',
    ])
    expect(notes(behind).join('\n')).toContain('DECIDE: uom follows it: are these its units?')
    const joined = draftedMapping(
      'id,Gewicht,Gewichtseinheit,Puls,Pulseinheit\n1,80,kg,70,/min\n2,180,lb,71,/min',
    )
    expect(rules(joined)).toEqual([
      'body-weight: { from: Gewicht, unit: { from: Gewichtseinheit } }',
      'heart-rate: { from: Puls, unit: { from: Pulseinheit } }',
    ])
    const lost = draftedMapping('id,glu,glu_units\n1,90,mg/dL\n2,91,\n3,92,mg/dL')
    expect(notes(lost).join('\n')).toContain('DECIDE: 1 of 3 values have no unit there')
    const others = draftedMapping('id,Blood Sugar,glu,glu_units\n1,90,91,mg/dL\n2,101,99,mg/dL')
    expect(rules(others).join()).not.toContain('glu_units')
    const alone = draftedMapping('id,chol,note,lab_units\n1,200,x,mg/dL\n2,180,y,mg/dL')
    expect(notes(alone).join('\n')).toContain('DECIDE: lab_units holds units; for which column?')
  })

  test('what is unsure is asked about, with the units that would do', () => {
    const drafted = column('weight', '122', '124')
    expect(rules(drafted)).toEqual([])
    expect(notes(drafted).join('\n')).toContain('kg or lb? Both would be plausible.')
  })

  test('a second column of a measurement is no second rule', () => {
    const drafted = draftedMapping('id,sbp1,sbp2\n1,118,120\n2,130,128')
    expect(rules(drafted)).toEqual(['systolic-bp: sbp1'])
    expect(notes(drafted)).toContain(
      'DECIDE: one more of systolic-bp: systolic-bp-2: { from: sbp2, catalog: systolic-bp }; or the mean of all 2 instead of the first: systolic-bp: { expression: "$round($average([$number(`sbp1`), $number(`sbp2`)]), 2)" }',
    )
  })

  test('both pressures in one column', () => {
    expect(rules(column('bp', '118/76', '131/80'))).toEqual([
      'systolic-bp: { from: bp, split: { by: /, take: 1 } }',
      'diastolic-bp: { from: bp, split: { by: /, take: 2 } }',
    ])
  })

  test('glucose where a column says who fasted', () => {
    expect(rules(draftedMapping('id,glucose,fasting\n1,90,Y\n2,131,N'))).toEqual([
      'glucose-fasting: { from: glucose, when: { fasting: ["Y"] } }',
      'glucose: { from: glucose, when: { fasting: ["N", ""] } }',
    ])
  })

  test('texts that mean nothing, where numbers stand beside them', () => {
    expect(draftedMapping(NHANES_LIKE).text).toContain('emptyWhen: ["NA"]')
    expect(draftedMapping('id,site\n1,NA\n2,North').text).not.toContain('emptyWhen')
  })

  test('conditions by name, with the words for yes that occur', () => {
    const drafted = draftedMapping('id,dx_htn,hx_asthma,smoker\n1,1,Y,Yes\n2,0,N,No')
    expect(rules(drafted)).toEqual([
      'hypertension: { when: { dx_htn: ["1"] }, status: active }',
      'tobacco-use: { when: { smoker: ["Yes"] }, status: active }',
    ])
  })

  test('physicians by NPIs whose check digit holds', () => {
    expect(rules(draftedMapping('id,pcp_npi,pcp_name\n1,1234567893,Dr. A\n2,2515070102,Dr. B'))).toEqual([
      'pcp: { when: { pcp_npi: present }, npi: pcp_npi, name: pcp_name, primary: true }',
    ])
    const damaged = draftedMapping('id,pcp_npi,pcp_name\n1,1234567893,Dr. A\n2,2515070101,Dr. B')
    expect(rules(damaged)).toHaveLength(1)
    expect(notes(damaged)).toContain('1 of 2 fail the check digit and will be rejected.')
    const mostly = draftedMapping('id,pcp_npi,pcp_name\n1,1234567893,A\n2,2515070101,B\n3,1,C')
    expect(rules(mostly)).toEqual([])
    expect(rules(draftedMapping('id,order_no,order_name\n1,1234567890,A\n2,2515070101,B'))).toEqual([])
  })
})

describe('rows of a wide table', () => {
  test('a column called like physicians says so where there are any', () => {
    const drafted = (cell: string): string =>
      draftedMapping(`participant_id,pcp_name\np-1,${cell}\np-2,${cell}`).text
    expect(drafted('Dr. Alder')).toContain('pcp_name names physicians; a care team needs their NPIs too.')
    expect(drafted('')).not.toContain('names physicians')
  })

  test('person, key, registration, date', () => {
    const { text } = draftedMapping(
      'member_id,first name,LNAME,DOB,sex,zip code,visit date,sbp\n7,A,B,1/31/1980,F,01001,02/14/2026,118\n8,C,D,2/1/1981,M,01002,02/03/2026,120',
    )
    expect(text).toContain('key: [member_id, visit date]')
    expect(text).toContain('dateOfBirth: { from: DOB, format: M/d/yyyy }')
    expect(text).toContain('gender: { from: sex, table: { F: FEMALE, M: MALE } }')
    expect(text).toContain('observedAt: { from: visit date, format: MM/dd/yyyy, zone: UTC }')
    expect(text).toContain('DECIDE: which time zone?')
  })

  test('what is mapped to the catalog never names the person', () => {
    const { draft, text } = draftedMapping(
      'Datum,weight_kg,HDL,HbA1c\n01.02.2026,70,50,5.1\n02.02.2026,81,51,5.2\n13.02.2026,92,52,5.3',
    )
    expect(draft.found).toContain('hba1c')
    expect(text).toContain('reference: "?" # DECIDE: no column is left to identify the person')
    expect(text).toContain('key: [Datum]')
  })

  test('one bad cell among many keeps nothing from being what it is, and is told', () => {
    const rows = Array.from({ length: 40 }, (_, at) =>
      at === 7 ? '8,morgens,entfallen,5.4' : `${at + 1},${10 + (at % 18)}.02.2026,${60 + at},5;${at % 10}`,
    )
    const drafted = draftedMapping(['id,visit date,weight_kg,hba1c', ...rows].join('\n'))
    expect(rules(drafted)).toEqual(['body-weight: weight_kg', 'hba1c: hba1c'])
    expect(drafted.text).toContain('number: { decimal: "," }')
    expect(notes(drafted)).toContain('1 of the sampled cells have another form; their rows are rejected.')
    expect(notes(drafted)).toContain('1 of 40 cells are not numbers')
  })

  test('a column of diagnoses beside measurements is one more thing of a visit', () => {
    const drafted = draftedMapping(
      'id,visit date,sbp,weight_kg,ICD\n1,02/14/2026,118,80,I10\n2,02/15/2026,120,81,\n3,02/16/2026,121,82,E11.9',
    )
    expect(rules(drafted)).toEqual([
      ...['systolic-bp: sbp', 'body-weight: weight_kg'],
      ...['- code: { from: ICD, system: ICD-10-CM, unknown: skip }', '  when: { ICD: present }'],
      '  status: active',
    ])
    expect(drafted.text).toContain('a row is a visit')
    expect(drafted.text).toContain('key: [id, visit date]')
    const alone = draftedMapping('id,visit date,ICD\n1,02/14/2026,I10\n2,02/15/2026,E11.9')
    expect(alone.text).toContain('key: [id, visit date, ICD]')
    expect(rules(alone)).not.toContain('  when: { ICD: present }')
  })

  test('a comment holds no cell, whatever stands in it', () => {
    const cells = ['Xylophon-Person', 'secret note', '31415']
    const drafted = draftedMapping(
      `id,name,note,dx_copd,sbp\n1,${cells[0]},${cells[1]},maybe,118\n2,Someone,,${cells[2]},x`,
    )
    for (const cell of [...cells, 'Someone', 'maybe']) expect(drafted.text).not.toContain(cell)
  })

  test('a name that holds a line end cannot leave its comment', () => {
    const { text } = draftedMapping('id,evil\u2028mapping: other,sbp\n1,a,118\n2,b,120')
    expect(text.split(/[\n\u2028]/).filter((line) => line.startsWith('mapping:'))).toEqual(['mapping: tried'])
  })
})

describe('rows of one finding each, and JSON', () => {
  test('LOINC numbers in a column make rules of long rows', () => {
    const drafted = draftedMapping(
      'patient,taken,code,result,units,status,ref range\nA,2026-02-04,4548-4,5.1,%,final,4-6\nB,2026-02-05,8480-6,118,mmHg,preliminary,',
    )
    expect(rules(drafted)).toEqual([
      '- code: { from: code, system: LOINC, unknown: skip }',
      '  value: result',
      '  unit: units',
      '  refRange: ref range',
      '  status: { from: status, keep: [final, corrected, amended], withdrawn: [entered-in-error, cancelled, canceled, withdrawn, deleted] }',
    ])
    expect(drafted.draft.found).toEqual(['hba1c', 'systolic-bp'])
  })

  test("a vendor's own tests are matched by name", () => {
    const drafted = draftedMapping(
      'mrn,date,test,value,uom\n1,2026-02-04,HDL,50,mg/dL\n1,2026-02-04,Sodium,140,mmol/L\n1,2026-02-04,Zinc,1,mg/L',
    )
    expect(rules(drafted)[0]).toBe(
      '- code: { from: test, unknown: skip, table: { "HDL": hdl-cholesterol, "Sodium": sodium } }',
    )
    expect(notes(drafted).join('\n')).toContain('1 other codes without a match')
    expect(drafted.text).not.toContain('Zinc')
  })

  test('one test that is known by chance makes no table of tests', () => {
    expect(rules(draftedMapping('mrn,date,test,value\n1,2026-02-04,HDL,50\n2,2026-02-04,Zinc,1'))).toEqual([])
  })

  test('SNOMED codes with an end are active without it', () => {
    expect(
      rules(
        draftedMapping('PATIENT,START,STOP,CODE\nA,2026-02-04,,44054006\nB,2026-02-04,2026-03-04,38341003'),
      ),
    ).toEqual([
      ...['- code: { from: CODE, system: SNOMED, unknown: skip }', '  when: { STOP: absent }'],
      ...['  status: active', '- code: { from: CODE, system: SNOMED, unknown: skip }'],
      ...['  when: { STOP: present }', '  status: resolved'],
    ])
  })

  test('flat JSON is a table by its paths', () => {
    const drafted = draftedJson(
      'ndjson',
      { id: '1', vitals: { sbp: '118', weight_kg: '80' } },
      { id: '2', vitals: { sbp: '130' } },
    )
    expect(rules(drafted)).toEqual(['systolic-bp: $.vitals.sbp', 'body-weight: $.vitals.weight_kg'])
  })

  test('of JSON that is not known, lists are told by their paths', () => {
    const drafted = draftedJson('json', {
      meta: { v: '1' },
      data: { people: [{ id: '1', sbp: '118', more: ['a'] }] },
    })
    expect(drafted.text).toContain('records: "$.data.people[*]"')
    expect(drafted.text).toContain('"$.more[*]"')
    expect(rules(drafted)).toEqual(['systolic-bp: $.sbp'])
  })
})

describe('what looks like something else', () => {
  const long = (header: string, ...rows: readonly string[]) => draftedMapping([header, ...rows].join('\n'))

  test('the state of a result by its texts, with what is left out', () => {
    const drafted = long(
      'mrn,date,code,result,unit,x',
      'A,2026-02-04,4548-4,5.1,%,F',
      'B,2026-02-05,2951-2,140,mmol/L,P',
      'C,2026-02-05,5763-8,80,ug/dL,F',
    )
    expect(rules(drafted)).toContain('  status: { from: x, keep: [F, C], withdrawn: [W, D, X] }')
    const told = notes(drafted).join('\n')
    expect(told).toContain('DECIDE: x is read as the status because of its texts.')
    expect(told).toContain('with counts: P (1).')
    expect(told).toContain('with counts: 5763-8 (1).')
    const women = long(
      'mrn,date,code,result,unit,sex',
      'A,2026-02-04,4548-4,5.1,%,F',
      'B,2026-02-05,2951-2,140,mmol/L,F',
    )
    expect(women.text).not.toContain('status:')
  })

  test('LOINC numbers of substance, and ICD-10-CM codes without the point', () => {
    const results = long(
      'mrn,date,code,result,unit',
      'A,2026-02-04,14749-6,5.1,mmol/L',
      'B,2026-02-05,2089-1,140,mg/dL',
    )
    expect(results.draft.found).toEqual(['glucose', 'ldl-cholesterol-unspecified'])
    const diagnoses = long('mrn,onset,icd', 'A,2026-02-04,E119', 'B,2026-02-05,J45909')
    expect(rules(diagnoses)[0]).toBe('- code: { from: icd, system: ICD-10-CM, unknown: skip }')
    expect(diagnoses.draft.found).toEqual(['type-2-diabetes', 'asthma'])
  })

  test('the year of a day is no offset', () => {
    const { text } = draftedMapping('id,visit date,sbp\n1,02-14-2026,118\n2,02-04-2026,120')
    expect(text).toContain('DECIDE: which time zone?')
    const told = draftedMapping(
      'id,visit date,sbp\n1,2026-02-14T09:10:00-05:00,118\n2,2026-02-04T08:00:00Z,120',
    )
    expect(told.text).not.toMatch(/DECIDE: .*(place|zone)/)
  })

  test('the time of day that stands beside the day', () => {
    const beside = draftedMapping('id,visit_date,sbp,visit_time\n1,02/14/2026,118,09:10\n2,02/04/2026,120,')
    expect(beside.text).toContain(
      'observedAt: { concat: [visit_date, visit_time], separator: " ", format: ["MM/dd/yyyy HH:mm", MM/dd/yyyy], zone: UTC }',
    )
    const odd = draftedMapping(
      'id,visit_date,visit_time,sbp\n1,02/14/2026,morning,118\n2,02/04/2026,0910,120',
    )
    expect(odd.text).toContain('DECIDE: visit_time is next to the date: is it the time of day?')
  })

  test('a specialist is not the primary care physician', () => {
    const drafted = draftedMapping(
      'id,endocrinologist_npi,endocrinologist_name\n1,1234567893,Dr. A\n2,2515070102,Dr. B',
    )
    expect(rules(drafted)).toEqual([])
    expect(notes(drafted).join('\n')).toContain('DECIDE: which type of physicians?')
  })
})

test.each<[JsonValue, readonly string[]]>([
  [{ b: [{ pulse: '61' }] }, []],
  [
    { a: [{ pulse: '61' }], b: [{ pulse: '61' }, { pulse: '62' }], c: { d: [{ pulse: '63' }] } },
    ['$.a, $.c.d'],
  ],
])('of a JSON document the longest list is drafted, the others are named: %j', (document, others) => {
  const { text } = draftedJson('json', document)
  expect(text).toContain('records: "$.b[*]"')
  expect([...text.matchAll(/Other lists in the file: (.*)\./g)].map(([, named]) => named)).toEqual(others)
})
