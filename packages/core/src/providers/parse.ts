import type * as z from 'zod'
import { issueText, missingText } from '../contract/endpoints/issue-text.ts'

/**
 * The first fault of a value as `<root>.<field>: <rule>`, for example `providers[1].host: must be a string`. It repeats no
 * value, because a value may be a secret. A field at the root has no dot if `root` is empty.
 */
export function faultOf(error: z.ZodError, root: string): string {
  const [issue] = error.issues
  if (!issue) return root
  const path = issue.path.map(String).join('.')
  const field = [root, path].filter((part) => part !== '').join('.')
  return [field, issue.message].filter((part) => part !== '').join(': ')
}

/** The code of a provider as it is stored: `canceled` says that a request to the service canceled the message. */
export function storedCode(code: string): string {
  return code === 'canceled' ? 'carrier_canceled' : code
}

/** Words an issue as a rule that follows the name of the field. For `safeParse(value, { error: ruleText })`. */
export function ruleText(issue: z.core.$ZodRawIssue): string {
  const path = (issue.path ?? []).map(String).join('.')
  const text = issueText(issue)
  if (text === missingText(path)) return 'is missing'
  if (path === '') return text.replace('Request body must be a JSON object', 'must be an object')
  return text.startsWith(`${path} `) ? text.slice(path.length + 1) : text
}
