CREATE TABLE "dispatch_pauses" (
	"scope" text PRIMARY KEY NOT NULL,
	"cause" text NOT NULL,
	"reason" text NOT NULL,
	"backup_at" timestamp (3) with time zone,
	"created_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "retention_marks" (
	"workspace_id" text NOT NULL,
	"kind" text NOT NULL,
	"before_id" text NOT NULL,
	CONSTRAINT "retention_marks_workspace_id_kind_pk" PRIMARY KEY("workspace_id","kind")
);
--> statement-breakpoint
ALTER TABLE "messages" ADD COLUMN "erased_at" timestamp (3) with time zone;