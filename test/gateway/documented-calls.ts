const JSON_TYPE = 'application/json'
const UTF8 = 'application/json;charset=UTF-8'
const PDF = 'application/pdf'
const PROFILE = '/health-profile'
const TEAMS = `${PROFILE}/care-teams`
const ADVICE = '/bioage/assessments/{assessmentId}/recommendations'
const ARTICLE = '/content/distribution/article'
const RECORDS = '/medical-records/requester'

/**
 * The client's methods with what the document's sections "Endpoints", "Authentication" and "Versioning" say of the call:
 * method and path; X-API-Key, the integrator's or the requester's; bearer token; X-API-Version; Content-Type;
 * Accept-Language. The upload has no path of its own.
 */
const TABLE = [
  ['accounts.register', 'POST', '/account/register', 'key', '', '', JSON_TYPE, ''],
  ['accounts.delete', 'DELETE', '/account', 'key', '', '', '', ''],
  ['biometrics.create', 'POST', `${PROFILE}/biometrics`, 'key', 'bearer', '', UTF8, ''],
  ['biometrics.createBulk', 'POST', `${PROFILE}/biometrics/bulk`, 'key', 'bearer', '', UTF8, ''],
  ['biometrics.sendBulk', 'POST', `${PROFILE}/biometrics/bulk`, 'key', 'bearer', '', UTF8, ''],
  ['biometrics.read', 'GET', `${PROFILE}/biometrics`, 'key', 'bearer', '', '', ''],
  ['conditions.create', 'POST', `${PROFILE}/conditions`, 'key', 'bearer', '', UTF8, ''],
  ['conditions.createBulk', 'POST', `${PROFILE}/conditions/bulk`, 'key', 'bearer', '', UTF8, ''],
  ['conditions.sendBulk', 'POST', `${PROFILE}/conditions/bulk`, 'key', 'bearer', '', UTF8, ''],
  ['conditions.read', 'GET', `${PROFILE}/conditions`, 'key', 'bearer', '', '', ''],
  ['careTeams.create', 'POST', TEAMS, 'key', 'bearer', '', UTF8, ''],
  ['careTeams.createBulk', 'POST', TEAMS, 'key', 'bearer', '', UTF8, ''],
  ['careTeams.sendBulk', 'POST', TEAMS, 'key', 'bearer', '', UTF8, ''],
  ['careTeams.list', 'GET', TEAMS, 'key', 'bearer', '', '', ''],
  ['careTeams.delete', 'DELETE', TEAMS, 'key', 'bearer', '', '', ''],
  ['careTeams.setPrimary', 'POST', `${TEAMS}/pcp`, 'key', 'bearer', '', UTF8, ''],
  ['careTeams.unsetPrimary', 'DELETE', `${TEAMS}/pcp`, 'key', 'bearer', '', UTF8, ''],
  ['ageAssessment.result', 'GET', '/bioage/result', 'key', '', '', '', ''],
  ['ageAssessment.resultByAccountId', 'GET', '/bioage/result/{accountId}', 'key', '', '', '', ''],
  ['ageAssessment.recommendations', 'GET', ADVICE, 'key', '', '', '', 'es-US'],
  ['ageAssessment.recommendationsByAccountId', 'GET', `${ADVICE}/{accountId}`, 'key', '', '', '', 'es-US'],
  ['ageAssessment.completedQuestions', 'GET', '/bioage/completed/questions', 'key', '', '', '', ''],
  ['assessment.currentPage', 'GET', '/assessments/bioage', 'key', 'bearer', '1.0', '', ''],
  ['assessment.submit', 'POST', '/assessments/bioage', 'key', 'bearer', '1.0', JSON_TYPE, ''],
  ['content.listArticles', 'GET', ARTICLE, 'key', '', '1.0.0', '', ''],
  ['content.articles', 'GET', ARTICLE, 'key', '', '1.0.0', '', ''],
  ['content.article', 'GET', `${ARTICLE}/{contentId}`, 'key', '', '1.0.0', '', ''],
  ['medicalRecords.upsert', 'PATCH', RECORDS, 'requester', '', '1.0.0', JSON_TYPE, ''],
  ['medicalRecords.search', 'POST', RECORDS, 'requester', '', '1.0.0', JSON_TYPE, ''],
  ['medicalRecords.requests', 'POST', RECORDS, 'requester', '', '1.0.0', JSON_TYPE, ''],
  ['medicalRecords.delete', 'DELETE', `${RECORDS}/{referenceNumber}`, 'requester', '', '1.0.0', '', ''],
  ['medicalRecords.requestTypes', 'GET', `${RECORDS}/requestTypes`, 'requester', '', '1.0.0', '', ''],
  ['medicalRecords.uploadAuthorization', 'PUT', 'authorizationUploadUrl', '', '', '', PDF, ''],
] as const

/** A row of the table, by the names of its columns; empty where a header is not sent. */
export const DOCUMENTED_CALLS = TABLE.map(
  ([name, method, path, key, bearer, version, contentType, language]) => ({
    name,
    method,
    path,
    key,
    bearer,
    version,
    contentType,
    language,
  }),
)
export type CallName = (typeof TABLE)[number][0]
