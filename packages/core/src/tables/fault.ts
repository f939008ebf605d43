/** A table that cannot be read. The message is without the name of the file, and without contents of cells. */
export class TableFault extends Error {
  /** @param line the line in the file, from 1 */
  constructor(message: string, line?: number) {
    super(line === undefined ? message : `line ${line}: ${message}`)
    this.name = 'TableFault'
  }
}
