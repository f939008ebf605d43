CREATE TABLE "second_factors" (
	"user_id" text PRIMARY KEY NOT NULL,
	"totp_secret" text,
	"totp_since" timestamp (3) with time zone,
	"totp_step" bigint,
	"recovery_hashes" json
);
