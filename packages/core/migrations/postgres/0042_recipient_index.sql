CREATE TABLE "recipient_entries" (
	"workspace_id" text NOT NULL,
	"segment" integer NOT NULL,
	"bucket" integer NOT NULL,
	"message_id" text NOT NULL,
	CONSTRAINT "recipient_entries_workspace_id_segment_bucket_message_id_pk" PRIMARY KEY("workspace_id","segment","bucket","message_id")
);
--> statement-breakpoint
CREATE TABLE "recipient_segments" (
	"workspace_id" text NOT NULL,
	"number" integer NOT NULL,
	"last_id" text NOT NULL,
	"count" integer NOT NULL,
	CONSTRAINT "recipient_segments_workspace_id_number_pk" PRIMARY KEY("workspace_id","number")
);
