/** A fault that the page finds itself, in the form of the API's faults. */
export interface Fault {
  path: string
  message: string
}

/** Without the fields that have no value. */
export function filled<T extends object>(fields: T): T {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== ''),
  ) as T
}
