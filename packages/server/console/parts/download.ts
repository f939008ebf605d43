/** Lets the person save a text or a loaded file. */
export function download(name: string, content: string | Blob, type = 'text/csv'): void {
  const link = document.createElement('a')
  const blob = typeof content === 'string' ? new Blob([content], { type }) : content
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 1_000)
}
