/** A secret that the service made for itself. */
export interface SecretReads {
  byName(name: string): Promise<string | null>
}

export interface SecretWrites {
  /** Keeps the secret unless one of that name is there, and answers the one that is kept. */
  keepFirst(secret: { name: string; value: string; created_at: Date }): Promise<string>
}
